// SPDX-License-Identifier: GPL-2.0
// Fuzzes the code with which the aggregator reads a session that the program's stray writes have damaged.
//
// An input begins with two bytes, which choose the session and what is made of it. The rest is a list of patches to it
// (session/damage.h).

#include "selftests/fuzz/fuzz.h"

#include <errno.h>
#include <stdio.h>

#include "ctl/heap/origin.h"
#include "ctl/message/message.h"
#include "ctl/output/statistics.h"
#include "model/model.h"
#include "model/tally.h"
#include "recording/reader.h"
#include "recording/section.h"
#include "recording/writer.h"
#include "report/collect.h"
#include "report/massif_file.h"
#include "report/writers.h"
#include "selftests/fuzz/session/damage.h"
#include "selftests/fuzz/session/session.h"
#include "symbols/symbolizer.h"

#define NOW 1000

int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Bits of the second byte of an input. */
enum {
	TREE = 1,    /* the profile ends with a tree, or has one */
	PRESENT = 2, /* a profile of this moment, instead of the whole */
	OUTPUT = 12, /* what is written of it */
	RECORDING = 4,
	XTREE = 8,
	STATISTICS = 12,
	AGAIN = 16,  /* attach to the damaged session, rather than damage one that is attached */
	CLOSED = 32, /* add the tallies to the totals first */
	OTHER = 64,  /* another format, or another unit of time */
};

static struct mf_options options;
static FILE *nowhere;

static void check_snapshot(const struct mf_profile *profile, const struct mf_profile_snapshot *snapshot)
{
	fuzz_require(snapshot->tree <= MF_TREE_PEAK && snapshot->n_seen <= profile->n_contexts);
	for (size_t i = 0; i < snapshot->n_leaves; i++)
		fuzz_require(snapshot->leaves[i].context < snapshot->n_seen && snapshot->leaves[i].bytes);
}

static void check_classes(const struct mf_class_count *classes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		fuzz_require(classes[i].class < MF_DETAIL_CLASSES && classes[i].count);
}

static void check_threads(const struct mf_profile *profile)
{
	for (size_t i = 0; i < profile->n_threads; i++)
		fuzz_require(strlen(profile->threads[i].name) <= MF_THREAD_NAME_SIZE);
	for (size_t i = 0; i < profile->n_thread_totals; i++)
		fuzz_require(strlen(profile->thread_totals[i].thread.name) <= MF_THREAD_NAME_SIZE);
	for (size_t i = 0; profile->context_threads && i < profile->n_contexts; i++)
		fuzz_require(profile->context_threads[i] < profile->n_threads);
}

/* A profile has no invalid references, whatever the session contains. */
static void check_profile(const struct mf_profile *profile)
{
	struct mf_frame frames[MF_PROFILE_FRAMES_MAX];

	for (uint32_t i = 0; i < profile->n_contexts; i++) {
		uint32_t n = profile->read_context(profile->source, i, frames);

		fuzz_require(n <= MF_PROFILE_FRAMES_MAX);
		for (uint32_t k = 0; k < n; k++)
			fuzz_require(frames[k].object < profile->n_objects);
		fuzz_require(!profile->functions || profile->functions[i] < MF_FUNCTIONS);
		if (!profile->details)
			continue;
		check_classes(profile->details[i].sizes, profile->details[i].n_sizes);
		check_classes(profile->details[i].lifetimes, profile->details[i].n_lifetimes);
		check_classes(profile->details[i].ages, profile->details[i].n_ages);
	}
	for (size_t i = 0; i < profile->n_snapshots; i++)
		check_snapshot(profile, &profile->snapshots[i]);
	check_threads(profile);
}

/* A recording that massif-ctl has written can be read. */
static void read_back(const struct mf_bytes *bytes, const struct mf_profile *profile)
{
	struct mf_recording recording;
	int fd = fuzz_file(bytes->data, bytes->size);
	struct mf_error err;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fuzz_require(!mf_recording_read(path, &recording, &err));
	fuzz_require(!recording.damage && recording.n_processes == 1);
	fuzz_require(recording.processes[0]->profile.n_snapshots == profile->n_snapshots);
	mf_recording_release(&recording);
	close(fd);
}

static void record(const struct mf_store *store, const struct mf_profile *profile, struct mf_symbolizer *symbolizer)
{
	const struct mf_facts facts = {
		.pid = 100, .name = "program", .cmd = "", .desc = "", .time_unit = profile->time_unit,
	};
	struct mf_collection end;
	struct mf_bytes bytes = { 0 };
	struct mf_error err;

	if (mf_collect_present(store, NOW, true, &end, &err))
		return;
	/* The contexts are those of the profile. */
	mf_section_add_magic(&bytes);
	if (end.profile.n_contexts <= profile->n_contexts &&
	    !mf_recording_add(&bytes, &facts, profile, end.profile.snapshots, symbolizer, &err))
		read_back(&bytes, profile);
	mf_bytes_deinit(&bytes);
	mf_collection_release(&end);
}

static void write_xtree(const struct mf_store *store, enum mf_format format, struct mf_symbolizer *symbolizer)
{
	const struct mf_xtree_file file = { .compress = true, .pid = 100, .time_ms = NOW };
	struct mf_xtree xtree;
	struct mf_error err;

	if (mf_xtree_collect(store, &xtree, &err))
		return;
	xtree.collection.profile.desc = xtree.collection.profile.cmd = "";
	mf_writers[format].write_xtree(nowhere, &xtree, &file, &options.report, symbolizer, &err);
	mf_xtree_release(&xtree);
}

static struct mf_end end_of(unsigned int what)
{
	return (struct mf_end){ .rule = what & TREE ? MF_END_TREE : MF_END_PEAK, .now = NOW };
}

static void write_output(const struct mf_store *store, struct mf_collection *collection, unsigned int what,
			 bool has_files)
{
	const struct mf_symbolizer_options names = { .unconfined = true, .closed = !has_files };
	struct mf_profile *profile = &collection->profile;
	struct mf_symbolizer *symbolizer;
	struct mf_error err;

	/* The aggregator does not read the profile's description, command and time unit from the session. */
	profile->desc = profile->cmd = "";
	profile->time_unit = what & OTHER ? MF_TIME_MS : MF_TIME_BYTES;
	if (mf_symbolizer_create(profile->objects, profile->n_objects, &names, &symbolizer, &err))
		return;
	switch (what & OUTPUT) {
	case 0:
		mf_massif_file_write(nowhere, profile, &options.report, symbolizer, &err);
		break;
	case RECORDING:
		record(store, profile, symbolizer);
		break;
	case XTREE:
		write_xtree(store, what & OTHER ? MF_FORMAT_MASSIF : MF_FORMAT_CALLGRIND, symbolizer);
		break;
	case STATISTICS:
		mf_statistics_end(&options, store, end_of(what), 100);
	}
	mf_symbolizer_destroy(symbolizer);
}

static int collect(const struct mf_store *store, unsigned int what, struct mf_collection *collection,
		   struct mf_error *err)
{
	return what & PRESENT ? mf_collect_present(store, NOW, what & TREE, collection, err) :
				mf_collect(store, end_of(what), collection, err);
}

static void read_all(struct mf_store *store, unsigned int what, bool has_files)
{
	struct mf_collection collection;
	struct mf_origin origin;
	struct mf_error err;

	if (!mf_origin_read(store, &origin))
		mf_origin_free(&origin);
	if (what & CLOSED)
		mf_tally_close(store);
	if (collect(store, what, &collection, &err))
		return;
	/* Like massif-ctl, read what only a recording has if one is written: the table of blocks is large. */
	if ((what & OUTPUT) != RECORDING ||
	    (!mf_collect_counts(&collection, &err) && !mf_collect_details(&collection, &err) &&
	     !mf_collect_threads(&collection, &err))) {
		check_profile(&collection.profile);
		write_output(store, &collection, what, has_files);
	}
	mf_collection_release(&collection);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct mf_error err;

	nowhere = fopen("/dev/null", "we");
	fuzz_require(nowhere && !mf_options_init(&options, 0, &err));
	mf_message_set_target(fileno(nowhere));
	mf_message_set_level(MF_MESSAGE_FILTERING);
	options.verbosity = MF_MESSAGE_FILTERING;
	options.stats = true;
	options.symbolizer.unconfined = options.symbolizer.closed = true;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	unsigned int kind = fuzz_u8(&input), what = fuzz_u8(&input);
	struct fuzz_session *session = fuzz_session_of(kind);
	struct mf_store again;
	struct mf_error err;

	fuzz_damage(session, &input);
	if (!(what & AGAIN)) {
		read_all(&session->store, what, kind & FUZZ_SESSION_FILES);
	} else if (!mf_store_attach(&again, session->memory, &err)) {
		fuzz_session_spread(&again);
		read_all(&again, what, kind & FUZZ_SESSION_FILES);
		fuzz_session_detach(&again);
	}
	fuzz_mend(session);
	return 0;
}
