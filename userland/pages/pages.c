// SPDX-License-Identifier: GPL-2.0
// The aggregator's side of a session of pages mode, from opening the ring to the end of all profiles.

#include "pages/pages.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/trie.h"
#include "pages/dump.h"
#include "pages/pages_state.h"
#include "pages/record.h"
#include "pages/share.h"

/*
 * The ring has to hold everything that happens while the aggregator is not running. An event with its stack takes about
 * 8 KiB. On a busy machine with two processors, we have seen a thousand events arrive before the aggregator was
 * scheduled. So the ring is as large as the protocol, the free memory and the user's locked-memory limit allow: 4 MiB
 * with the usual limit of 8 MiB.
 */
#define RING_BYTES_MOST	 ((uint64_t)MASSIF_RING_MAX)
#define RING_BYTES_LEAST (1ull << 20)
#define HELD_BYTES_MAX	   (64ull << 20)

/* Size in bytes of the module's stack cache, enough for about ten thousand stacks. */
#define KNOWN_BYTES (8u << 20)

/*
 * Number of frames recorded in addition to the report's depth, to make up for allocation functions that are removed
 * from the report, as in Massif.
 */
#define FRAMES_BEYOND_DEPTH 50

static void remove_target(struct mf_pages *pages, struct mf_target *target)
{
	mf_targets_remove(&pages->targets, target);
	if (pages->resync_target == target) {
		free(pages->resync);
		pages->resync = NULL;
		pages->resync_target = NULL;
	}
	mf_target_destroy(target);
}

static enum mf_stack_cache_mode known_mode(void)
{
	const char *word = getenv("MASSIF_KNOWN_STACKS");

	if (word && !strcmp(word, "off"))
		return MF_KNOWN_OFF;
	return word && !strcmp(word, "verify") ? MF_KNOWN_VERIFY : MF_KNOWN_ON;
}

static struct mf_pages *create(const struct mf_pages_options *options)
{
	struct mf_pages *pages = calloc(1, sizeof(*pages));
	uint32_t frames = options->depth + FRAMES_BEYOND_DEPTH;

	if (!pages)
		return NULL;
	pages->ring.fd = -1;
	pages->model = options->model;
	pages->traces_children = options->traces_children;
	pages->skips = options->skips;
	pages->skips_data = options->skips_data;
	pages->common.frames = frames < MF_UNWIND_FRAMES_MAX ? frames : MF_UNWIND_FRAMES_MAX;
	pages->common.what = options->what;
	pages->common.dump_path = getenv("MASSIF_DUMP_INTERVALS");
	pages->common.held_bytes_max = HELD_BYTES_MAX;
	pages->common.filter = options->filter;
	pages->common.names = options->names;
	pages->common.ring = &pages->ring;
	pages->common.known_mode = known_mode();
	mf_files_init(&pages->common.files);
	pages->common.files.held = options->held;
	pages->common.files.unreadable = options->unreadable;
	return pages;
}

static uint64_t ring_bytes_of_tests(void)
{
	const char *kib = getenv("MASSIF_RING_KIB");

	return kib ? strtoull(kib, NULL, 10) * 1024 : 0;
}

static int open_ring(struct mf_pages *pages, const struct mf_pages_options *options,
		     struct mf_error *err)
{
	const char *device = options->device ? options->device : MASSIF_DEVICE;
	uint64_t wanted = options->ring_bytes ? options->ring_bytes : ring_bytes_of_tests();
	struct mf_ring_setup setup = {
		.ring_bytes = wanted ? wanted : RING_BYTES_MOST,
		.stack_bytes = MASSIF_STACK_MAX,
		.known_bytes = pages->common.known_mode == MF_KNOWN_OFF ? 0 : KNOWN_BYTES,
	};
	int code;

	if (pages->common.known_mode == MF_KNOWN_VERIFY)
		setup.flags |= MASSIF_SETUP_VERIFY;
	if (options->what != MF_PAGES_VIRTUAL)
		setup.flags |= MASSIF_SETUP_RESIDENT;
	for (;;) {
		code = mf_ring_open(&pages->ring, device, &setup, err);
		if ((code != -ENOMEM && code != -EDQUOT) || wanted || setup.ring_bytes <= RING_BYTES_LEAST)
			return code;
		setup.ring_bytes /= 2;
		if (setup.known_bytes > setup.ring_bytes / 2)
			setup.known_bytes = (uint32_t)(setup.ring_bytes / 2);
	}
}

int mf_pages_open(const struct mf_pages_options *options, struct mf_pages **pages,
		  struct mf_error *err)
{
	struct mf_pages *made = create(options);
	int code;

	if (!made)
		return mf_error_set(err, -ENOMEM, "no memory for a session");
	code = open_ring(made, options, err);
	if (code) {
		mf_pages_close(made);
		return code;
	}
	*pages = made;
	return 0;
}

int mf_pages_attach(const struct mf_pages_options *options, const struct massif_control *control,
		    struct massif_consumer *consumer, const uint8_t *data, struct mf_pages **pages,
		    struct mf_error *err)
{
	struct mf_pages *made = create(options);
	int code;

	if (!made)
		return mf_error_set(err, -ENOMEM, "no memory for a session");
	code = mf_ring_attach(&made->ring, control, consumer, data, err);
	if (code) {
		mf_pages_close(made);
		return code;
	}
	*pages = made;
	return 0;
}

void mf_pages_close(struct mf_pages *pages)
{
	struct mf_target *target;

	if (!pages)
		return;
	while ((target = mf_targets_any(&pages->targets)))
		remove_target(pages, target);
	free(pages->resync);
	mf_ring_close(&pages->ring);
	mf_files_deinit(&pages->common.files);
	mf_members_deinit(&pages->members);
	free(pages);
}

int mf_pages_forked(struct mf_pages *pages, struct mf_error *err)
{
	return mf_ring_forked(&pages->ring, err);
}

int mf_pages_enrol(const struct mf_pages *pages)
{
	return mf_ring_enrol(&pages->ring);
}

int mf_pages_enrol_error(int code, struct mf_error *err)
{
	switch (code) {
	case -EPERM:
	case -EACCES:
		return mf_error_set(
			err, code,
			"massif.ko refuses to profile this process: it must run as the user who opened %s "
			"and be dumpable",
			MASSIF_DEVICE);
	case -EBUSY:
		return mf_error_set(err, code, "the process is already being profiled by another massif-ctl");
	default:
		return mf_error_set(err, code, "massif.ko cannot add the process to the session: %s",
				    strerror(-code));
	}
}

/* Messages for processes that cannot be attached to. */
static const struct {
	int code;
	const char *words;
} join_errors[] = {
	{-ESRCH, "does not exist, or has just ended"},
	{-EPERM, "may not be profiled by this user: it runs as another user or group, has more "
		 "privileges, is not dumpable (prctl(PR_SET_DUMPABLE)), or kernel.yama.ptrace_scope "
		 "forbids it; run massif-ctl as root or with CAP_SYS_PTRACE"},
	{-EOPNOTSUPP, "is a kernel thread: it has no memory of its own to profile"},
	{-EBUSY, "is already being profiled by massif"},
	{-EAGAIN, "keeps executing new programs; try again"},
	{-ENOTTY, "cannot be attached to by the loaded massif.ko: load the one that was built with "
		  "this massif-ctl"},
};

enum {
	EXEC_LOOKS = 200, /* maximum number of attempts to attach to a process that is calling exec */
	EXEC_LOOK_MS = 10,
};

int mf_pages_join(struct mf_pages *pages, pid_t pid, struct mf_error *err)
{
	int code = mf_ring_join(&pages->ring, pid);

	for (int i = 0; code == -EAGAIN && i < EXEC_LOOKS; i++) {
		poll(NULL, 0, EXEC_LOOK_MS);
		code = mf_ring_join(&pages->ring, pid);
	}
	if (!code)
		return 0;
	for (size_t i = 0; i < sizeof(join_errors) / sizeof(join_errors[0]); i++)
		if (join_errors[i].code == code)
			return mf_error_set(err, code, "process %d %s", (int)pid,
					    join_errors[i].words);
	return mf_error_set(err, code, "massif.ko cannot attach to process %d: %s", (int)pid,
			    strerror(-code));
}

void mf_pages_ring_use(const struct mf_pages *pages, uint64_t *most_unread, uint64_t *bytes)
{
	*most_unread = pages->ring.most_unread;
	*bytes = pages->ring.data_bytes;
}

int mf_pages_fd(const struct mf_pages *pages)
{
	return pages->ring.fd;
}

/*
 * Ends the profile of each target (address space) that its process no longer uses, once the target's EXIT record has
 * been accounted for or the session is over.
 */
static int settle(struct mf_pages *pages, struct mf_error *err)
{
	struct mf_target *target;
	int code = 0;

	mf_targets_each(&pages->targets, target)
	{
		/* The session is over, so every process has exited, even if its EXIT record was lost. */
		if (pages->done && target->left == MF_PAGES_RUNNING)
			target->left = MF_PAGES_EXITED;
		if (pages->done && pages->unexplained && !target->exited)
			mf_target_note_loss(target, pages->unexplained, pages->now_ns);
		if (!code && target->left != MF_PAGES_RUNNING && (target->exited || pages->done))
			code = mf_target_finish(target, target->left, pages->now_ns, err);
	}
	return code;
}

static int flush(struct mf_pages *pages, struct mf_error *err)
{
	struct mf_target *target;
	int code = 0;

	mf_targets_each(&pages->targets, target) if (!code) code = mf_target_flush(target, err);
	return code;
}

static int drain(struct mf_pages *pages, struct mf_error *err)
{
	const struct massif_record *record;
	uint64_t gap;
	int code;

	for (;;) {
		code = mf_ring_next(&pages->ring, &record, &gap, err);
		if (code || !record)
			break;
		code = mf_record_apply(pages, record, gap, err);
		if (code)
			break;
		mf_ring_advance(&pages->ring, record);
	}
	mf_ring_publish(&pages->ring);
	mf_ring_send_queued(&pages->ring);
	return code;
}

static int dump(struct mf_pages *pages, const char *moment, struct mf_error *err)
{
	struct mf_target *target;
	int code = 0;

	mf_targets_each(&pages->targets, target) if (!code && target->left == MF_PAGES_RUNNING) code =
		mf_target_dump(target, moment, err);
	mf_dump_done(pages->common.dump_path);
	return code;
}

int mf_pages_drain(struct mf_pages *pages, struct mf_error *err)
{
	/* Test for a hang-up before reading the ring: no record can follow a hang-up. */
	bool hung_up = mf_ring_hung_up(&pages->ring);
	/*
	 * Check for a dump request before reading the ring as well. The test that requests a dump has stopped the
	 * program first, so the ring contains every event up to the request.
	 */
	char moment[MF_DUMP_MOMENT_MAX];
	bool dumps = pages->common.dump_path && mf_dump_is_wanted(pages->common.dump_path, moment);
	int code = drain(pages, err);

	if (!code && dumps)
		code = dump(pages, moment, err);
	if (code)
		return code;
	if (pages->resync_wanted)
		pages->resync_wanted = mf_ring_resync(&pages->ring) > 0;
	if (hung_up) {
		pages->done = true;
		code = flush(pages, err);
		if (code)
			return code;
	}
	return settle(pages, err);
}

bool mf_pages_done(const struct mf_pages *pages)
{
	return pages->done;
}

int mf_pages_end(struct mf_pages *pages, struct mf_error *err)
{
	struct mf_target *target;
	int code = mf_pages_drain(pages, err), more;

	/* Account for the queued events even after an error, to keep what was recorded before the error. */
	more = flush(pages, code ? NULL : err);
	code = code ? code : more;
	mf_targets_each(&pages->targets, target)
	{
		enum mf_pages_state state = target->exited ? MF_PAGES_EXITED : MF_PAGES_STOPPED;

		more = mf_target_finish(target, state, pages->now_ns, code ? NULL : err);
		code = code ? code : more;
	}
	return code;
}

struct mf_pages_process *mf_pages_next_ended(struct mf_pages *pages)
{
	struct mf_target *target;

	mf_targets_each(&pages->targets, target)
	{
		if (target->reported || target->process.state == MF_PAGES_RUNNING)
			continue;
		target->reported = true;
		return &target->process;
	}
	return NULL;
}

static struct mf_target *target_of(struct mf_pages_process *process)
{
	return (struct mf_target *)((char *)process - offsetof(struct mf_target, process));
}

void mf_pages_release(struct mf_pages *pages, struct mf_pages_process *process)
{
	remove_target(pages, target_of(process));
}

size_t mf_pages_count(const struct mf_pages *pages)
{
	struct mf_target *target;
	size_t n = 0;

	mf_targets_each(&pages->targets, target) n++;
	return n;
}

int mf_pages_share(const struct mf_pages_process *process, int *memory, struct mf_error *err)
{
	const struct mf_target *target =
		(const void *)((const char *)process - offsetof(struct mf_target, process));
	struct mf_accounting *accounting = target->accounting;
	int code = accounting->memory < 0 ? mf_share_store(&accounting->store, &accounting->memory, err) : 0;

	*memory = accounting->memory;
	return code;
}

static struct mf_accounting *accounting_of(const struct mf_pages_process *process)
{
	const void *target = (const char *)process - offsetof(struct mf_target, process);

	return ((const struct mf_target *)target)->accounting;
}

struct mf_pages_resident mf_pages_resident(const struct mf_pages_process *process)
{
	const struct mf_accounting *accounting = accounting_of(process);

	return (struct mf_pages_resident){
		.bytes = mf_model_of(&accounting->store)->heap,
		.most = accounting->most_resident,
		.most_ns = accounting->most_resident_ns,
	};
}

struct finding {
	mf_pages_found *found;
	void *data;
};

static bool visit(struct mf_window *window, uint16_t pages, void *data)
{
	const struct finding *finding = data;

	for (uint32_t i = 0; i < MF_WINDOW_PAGES; i++)
		if (pages & 1u << i && window->kind[i] && window->context[i] >= MF_CONTEXT_FIRST)
			finding->found(finding->data, window->address + i * (MF_WINDOW_BYTES / MF_WINDOW_PAGES),
				       window->context[i] - MF_CONTEXT_FIRST);
	return true;
}

void mf_pages_each_resident(const struct mf_pages_process *process, uint64_t start, uint64_t end, mf_pages_found *found,
			    void *data)
{
	struct finding finding = { found, data };

	mf_windows_each(&accounting_of(process)->resident.windows, start, end, visit, &finding);
}

const struct mf_pages_process *mf_pages_find(const struct mf_pages *pages, pid_t pid)
{
	const struct mf_pages_process *found = NULL;
	struct mf_target *target;

	mf_targets_each(&pages->targets, target)
	{
		const struct mf_pages_process *process = &target->process;
		bool replaced = process->state == MF_PAGES_REPLACED || target->left == MF_PAGES_REPLACED;

		if (process->pid == pid && !replaced && (!found || process->start_ns > found->start_ns))
			found = process;
	}
	return found;
}

const struct mf_pages_process *mf_pages_process(const struct mf_pages *pages, size_t index)
{
	struct mf_target *target;

	mf_targets_each(&pages->targets, target) if (!index--) return &target->process;
	return NULL;
}
