// SPDX-License-Identifier: GPL-2.0
// What recordings contain: facts, profiles with names and details, and contents that are wrong.

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "base/bytes.h"
#include "base/printable.h"
#include "ctl/query/curve.h"
#include "ctl/query/size_table.h"
#include "model/model.h"
#include "model/trie.h"
#include "recording/facts.h"
#include "recording/reader.h"
#include "recording/section.h"
#include "recording/writer.h"
#include "report/collapsed.h"
#include "report/collect.h"
#include "report/json_text.h"
#include "report/writers.h"
#include "selftests/lib/model_oracle.h"
#include "symbols/positions.h"

static struct mf_cursor cursor_of(const struct mf_bytes *bytes)
{
	return (struct mf_cursor){ bytes->data, bytes->data + bytes->size, false };
}

/* Writes a recording of the profile, whose names are not known. */
static struct mf_bytes record(const struct mf_profile *profile)
{
	static const struct mf_facts facts = { .pid = 7, .cmd = "program", .desc = "(none)" };
	const struct mf_profile_snapshot end = { .tree = MF_TREE_DETAILED };
	struct mf_symbolizer *symbolizer;
	struct mf_bytes file = { 0 };

	if (mf_symbolizer_create(profile->objects, profile->n_objects, &(struct mf_symbolizer_options){ .closed = true },
				 &symbolizer, NULL) ||
	    mf_recording_add(&file, &facts, profile, &end, symbolizer, NULL))
		abort();
	mf_symbolizer_destroy(symbolizer);
	return file;
}

/* Whether the stacks are taken from the nodes of the store or compared with each other, the recording is the same. */
TEST(stacks_of_a_store)
{
	const struct mf_model_options options = { .max_snapshots = 100, .detailed_freq = 10, .alignment = 16 };
	struct mf_collection collection;
	struct mf_bytes by_nodes, by_frames;
	struct mf_frame frames[20];
	struct mf_profile profile;
	struct mf_store store;
	uint64_t seed = 1;

	ASSERT_EQ(0, mf_store_create(&store, 512ull << 20, NULL, NULL));
	mf_model_init(&store, &options);
	for (int i = 0; i < 1000; i++) {
		uint32_t n = (uint32_t)oracle_below(&seed, 20);

		for (uint32_t k = 0; k < n; k++)
			frames[k] = (struct mf_frame){ .pc = 0x1000 + oracle_below(&seed, n - k < 5 ? 3 : 1) };
		ASSERT_NE(MF_CONTEXT_NONE, mf_trie_insert(&store, frames, n));
	}
	ASSERT_EQ(0, mf_collect(&store, (struct mf_end){ 0 }, &collection, NULL));
	EXPECT_LT(300, collection.profile.n_contexts);
	ASSERT_NE(NULL, collection.profile.node_of);
	by_nodes = record(&collection.profile);
	profile = collection.profile;
	profile.node_of = NULL;
	by_frames = record(&profile);
	ASSERT_EQ(by_frames.size, by_nodes.size);
	EXPECT_EQ(0, memcmp(by_frames.data, by_nodes.data, by_nodes.size));
	mf_bytes_deinit(&by_nodes);
	mf_bytes_deinit(&by_frames);
	mf_collection_release(&collection);
	mf_store_detach(&store);
}

TEST(facts)
{
	const struct mf_facts written = {
		.pid = 4711, .name = "name", .cmd = "name with words", .pages = 1, .end_time = -5, .end_heap = UINT64_MAX,
	};
	struct mf_bytes bytes = { 0 };
	struct mf_facts facts;
	struct mf_cursor cursor;

	mf_facts_add(&bytes, &written);
	cursor = cursor_of(&bytes);
	mf_facts_take(&cursor, &facts);
	EXPECT_FALSE(cursor.bad);
	EXPECT_EQ(4711, facts.pid);
	EXPECT_EQ(0, facts.parent);
	EXPECT_STREQ("name", facts.name);
	EXPECT_STREQ("name with words", facts.cmd);
	EXPECT_EQ(NULL, facts.desc);
	EXPECT_EQ(-5, facts.end_time);
	EXPECT_EQ(UINT64_MAX, facts.end_heap);
	mf_bytes_deinit(&bytes);

	/* A later version knows more, and one fact has become a text. */
	mf_bytes_add_unsigned(&bytes, 4);
	mf_bytes_add_unsigned(&bytes, 3 * 1000 + 2);
	mf_bytes_add_text(&bytes, "new");
	mf_bytes_add_unsigned(&bytes, 3 * 1001 + 1);
	mf_bytes_add_signed(&bytes, -1);
	mf_bytes_add_unsigned(&bytes, 3 * 1 + 2);
	mf_bytes_add_text(&bytes, "parent");
	mf_bytes_add_unsigned(&bytes, 3 * 0 + 0);
	mf_bytes_add_unsigned(&bytes, 12);
	cursor = cursor_of(&bytes);
	mf_facts_take(&cursor, &facts);
	EXPECT_FALSE(cursor.bad);
	EXPECT_EQ(12, facts.pid);
	EXPECT_EQ(0, facts.parent);
	mf_bytes_deinit(&bytes);
}

/* A small profile: a file, a library that was unloaded, a note; inlined calls; a snapshot without a tree, and two with. */
static const struct mf_object objects[] = {
	{ .kind = MF_OBJECT_UNKNOWN },
	{ .kind = MF_OBJECT_FILE, .start = 0x1000, .end = 0x9000, .path = "/bin/program", .build_id = { 1, 2 },
	  .build_id_size = 2 },
	{ .kind = MF_OBJECT_FILE, .start = 0xa000, .end = 0xb000, .path = "/lib/library.so", .unloaded = true },
	{ .kind = MF_OBJECT_NOTE, .path = "[heap]" },
};
static const struct mf_frame stacks[][3] = {
	{ { 0x1010, 1 }, { 0x1020, 1 }, { 0x1030, 1 } },
	{ { 0xa010, 2 }, { 0x1020, 1 }, { 0x1030, 1 } },
	{ { 0x1040, 1 }, { 0x1030, 1 } },
	{ { 0, 3 } },
	{ { 0x77, 0 }, { 0x1030, 1 } },
};
static const struct mf_leaf leaves[] = { { 0, 5, 100 }, { 1, 0, 200 }, { 2, 1, 300 }, { 3, UINT32_MAX, 50 }, { 4, 7, 7 } };
static const struct mf_profile_snapshot snapshots[] = {
	{ .time = 0 },
	{ .time = 5, .heap_bytes = 600, .extra_bytes = 24, .tree = MF_TREE_DETAILED, .leaves = leaves, .n_leaves = 3,
	  .n_seen = 3, .has_blocks = true },
	{ .time = 9, .heap_bytes = 657, .extra_bytes = 40, .tree = MF_TREE_PEAK, .leaves = leaves, .n_leaves = 5,
	  .n_seen = 5, .has_blocks = true },
	{ .time = 12, .heap_bytes = 550, .tree = MF_TREE_DETAILED, .leaves = leaves + 1, .n_leaves = 3, .n_seen = 5,
	  .has_blocks = true },
};

static const struct mf_size_class sizes[MF_SIZE_CLASSES] = { [0] = { 1, 1 }, [7] = { 33, 1606 }, [63] = { 1, UINT64_MAX } };
static const struct mf_counts counts[] = { { 10, 1000, 3, 1 }, { 20, 300, 1, 2 }, { 3, 300, 0, 3 }, { 0 }, { 1, 7, 1, 1 } };

static const struct mf_class_count classes[] = { { 0, 1 }, { 7, 9 }, { 47, UINT64_MAX }, { 3, 2 } };
static const struct mf_context_details details[] = {
	{ 77, classes, classes, classes, 2, 0, 0 }, { UINT64_MAX, classes, classes + 1, classes, 3, 2, 3 }, { 0 }, { 0 },
	{ 8, classes + 3, classes, classes + 2, 1, 1, 1 },
};

static uint32_t read_context(const void *source, uint32_t number, struct mf_frame *frames)
{
	uint32_t n = 0;

	for (; n < 3 && (stacks[number][n].pc || stacks[number][n].object); n++)
		frames[n] = stacks[number][n];
	return n;
}

/* The contents of the sections of one process. */
struct contents {
	struct mf_bytes sections[MF_SECTION_TYPES];
};

FIXTURE(process) {
	struct contents contents;
};

static void contents_release(struct contents *contents)
{
	for (size_t i = 0; i < MF_SECTION_TYPES; i++)
		mf_bytes_deinit(&contents->sections[i]);
}

/* Writes the profile as a recording, and keeps what its sections contain. */
FIXTURE_SETUP(process)
{
	static struct mf_location inlined[] = { { .function = "inner", .file = "a.c", .directory = "/src", .line = 3 },
						{ .function = "outer", .file = "a.c", .line = 9, .offset = 4 } },
				  named = { .function = "main", .file = "b.c", .line = 20 };
	static const struct mf_facts facts = { .pid = 7, .cmd = "program", .desc = "(none)", .time_unit = MF_TIME_MS };
	const struct mf_profile profile = {
		.desc = facts.desc, .cmd = facts.cmd, .time_unit = MF_TIME_MS,
		.objects = objects, .n_objects = 4, .read_context = read_context, .n_contexts = 5,
		.snapshots = snapshots, .n_snapshots = 3, .counts = counts, .sizes = sizes,
		.details = details, .details_lost = 12, .has_ages = true,
	};
	struct mf_symbolizer *symbolizer;
	struct mf_section_reader reader;
	struct mf_bytes file = { 0 };
	uint32_t type;
	size_t size;

	ASSERT_EQ(0, mf_symbolizer_create(objects, 4, &(struct mf_symbolizer_options){ .closed = true }, &symbolizer, NULL));
	ASSERT_TRUE(mf_symbolizer_give(symbolizer, stacks[0][0], inlined, 2));
	ASSERT_TRUE(mf_symbolizer_give(symbolizer, stacks[0][2], &named, 1));
	ASSERT_EQ(0, mf_recording_add(&file, &facts, &profile, &snapshots[3], symbolizer, NULL));
	mf_symbolizer_destroy(symbolizer);
	reader = mf_section_reader(file.data, file.size);
	for (uint8_t *data; mf_section_read(&reader, &type, &data, &size, NULL) > 0; free(data))
		mf_bytes_add(&self->contents.sections[type], data, size);
	mf_bytes_deinit(&file);
}

FIXTURE_TEARDOWN(process)
{
	contents_release(&self->contents);
}

/* Reads a recording of one process, whose sections have these contents. It has no counts or sizes if they are empty. */
static int read_contents(const struct contents *contents, struct mf_recording *recording, struct mf_error *err)
{
	struct mf_bytes file = { 0 };
	int fd = memfd_create("recording", MFD_CLOEXEC), code = -EIO;
	char path[32];

	mf_section_add_magic(&file);
	for (enum mf_section_type type = MF_SECTION_PROCESS; type < MF_SECTION_TYPES; type++)
		if (type != MF_SECTION_END && (type < MF_SECTION_COUNTS || contents->sections[type].size))
			mf_section_add(&file, type, &contents->sections[type]);
	mf_section_add(&file, MF_SECTION_END, &contents->sections[MF_SECTION_END]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (write(fd, file.data, file.size) == (ssize_t)file.size)
		code = mf_recording_read(path, recording, err);
	close(fd);
	mf_bytes_deinit(&file);
	return code;
}

static bool is_snapshot_right(const struct mf_profile *profile, const struct mf_profile_snapshot *snapshot)
{
	bool right = snapshot->tree <= MF_TREE_PEAK && snapshot->n_seen <= profile->n_contexts;

	for (size_t i = 0; i < snapshot->n_leaves; i++)
		right &= snapshot->leaves[i].context < snapshot->n_seen;
	return right;
}

static bool are_classes_right(const struct mf_class_count *list, uint32_t n)
{
	bool right = true;

	for (uint32_t i = 0; i < n; i++)
		right &= list[i].class < MF_DETAIL_CLASSES && list[i].count && (!i || list[i].class > list[i - 1].class);
	return right;
}

/* Returns whether what @process refers to exists. */
static bool is_right(const struct mf_recorded *process)
{
	const struct mf_profile *profile = &process->profile;
	struct mf_frame frames[MF_PROFILE_FRAMES_MAX];
	bool right = process->end->tree != MF_TREE_EMPTY && is_snapshot_right(profile, process->end);

	for (size_t i = 0; i < profile->n_objects; i++)
		right &= profile->objects[i].kind == MF_OBJECT_UNKNOWN || profile->objects[i].path;
	for (uint32_t i = 0; i < profile->n_contexts; i++)
		for (uint32_t n = profile->read_context(profile->source, i, frames); n-- > 0;)
			right &= frames[n].object < profile->n_objects;
	for (size_t i = 0; i < profile->n_snapshots; i++)
		right &= is_snapshot_right(profile, &profile->snapshots[i]);
	for (size_t i = 0; profile->details && i < profile->n_contexts; i++)
		right &= are_classes_right(profile->details[i].sizes, profile->details[i].n_sizes) &&
			 are_classes_right(profile->details[i].lifetimes, profile->details[i].n_lifetimes) &&
			 are_classes_right(profile->details[i].ages, profile->details[i].n_ages);
	right &= !profile->has_ages || profile->details;
	return right;
}

static bool are_classes_equal(const struct mf_class_count *a, const struct mf_class_count *b, uint32_t n)
{
	bool equal = true;

	for (uint32_t i = 0; i < n; i++)
		equal &= a[i].class == b[i].class && a[i].count == b[i].count;
	return equal;
}

/* Returns whether @profile has the details and the blocks that were written. */
static bool has_details(const struct mf_profile *profile, const struct mf_profile_snapshot *end)
{
	bool right = profile->details && profile->has_ages && profile->details_lost == 12 && end->has_blocks &&
		     end->n_leaves == 3;

	for (size_t i = 0; right && i < 5; i++) {
		const struct mf_context_details *read = &profile->details[i];

		right &= read->largest == details[i].largest && read->n_sizes == details[i].n_sizes &&
			 read->n_lifetimes == details[i].n_lifetimes && read->n_ages == details[i].n_ages &&
			 are_classes_equal(read->ages, details[i].ages, read->n_ages) &&
			 are_classes_equal(read->sizes, details[i].sizes, read->n_sizes) &&
			 are_classes_equal(read->lifetimes, details[i].lifetimes, read->n_lifetimes);
	}
	for (size_t i = 0; right && i < 5; i++)
		right &= profile->snapshots[2].leaves[i].blocks == leaves[i].blocks;
	return right && !profile->snapshots[0].has_blocks && profile->snapshots[2].has_blocks &&
	       end->leaves[2].blocks == UINT32_MAX;
}

/* Writes @process in all formats. Returns whether all could be written. */
static bool export(struct mf_recorded *process, const struct mf_report_options *options, FILE *out)
{
	const struct mf_moment moment = { &process->profile, process->end, options, process->symbolizer };
	bool right = true;

	for (enum mf_format format = 0; format < MF_FORMATS; format++) {
		const struct mf_writer *writer = &mf_writers[format];

		if (writer->meaning && writer->write_profile)
			right &= !writer->write_profile(out, &process->profile, options, process->symbolizer, NULL);
		if (writer->meaning && writer->write_moment)
			right &= !writer->write_moment(out, &moment, NULL);
	}
	return right;
}

TEST_F(process, is_read_as_it_was_written)
{
	struct mf_recording recording;
	struct mf_report_options options;
	struct mf_moment moment;
	char *text = NULL;
	size_t size;
	FILE *out;

	ASSERT_EQ(0, read_contents(&self->contents, &recording, NULL));
	ASSERT_EQ(1, recording.n_processes);
	EXPECT_EQ(NULL, recording.damage);
	EXPECT_TRUE(is_right(recording.processes[0]));
	EXPECT_EQ(0, memcmp(counts, recording.processes[0]->profile.counts, sizeof(counts)));
	EXPECT_EQ(0, memcmp(sizes, recording.processes[0]->profile.sizes, sizeof(sizes)));
	EXPECT_TRUE(has_details(&recording.processes[0]->profile, recording.processes[0]->end));
	mf_report_options_init(&options);
	moment = (struct mf_moment){ &recording.processes[0]->profile, &snapshots[2], &options,
				     recording.processes[0]->symbolizer };
	out = open_memstream(&text, &size);
	EXPECT_EQ(0, mf_collapsed_write(out, &moment, NULL));
	fclose(out);
	EXPECT_STREQ("main;0x1020;outer;inner 100\nmain;0x1020;0xA010 200\nmain;0x1040 300\n[heap] 50\nmain;0x77 7\n", text);
	free(text);
	mf_recording_release(&recording);
}

static void insert(struct mf_bytes *bytes, size_t at, const void *data, size_t size)
{
	struct mf_bytes rest = { 0 };

	mf_bytes_add(&rest, bytes->data + at, bytes->size - at);
	bytes->size = at;
	mf_bytes_add(bytes, data, size);
	mf_bytes_add(bytes, rest.data, rest.size);
	mf_bytes_deinit(&rest);
}

static void delete(struct mf_bytes *bytes, size_t at, size_t size)
{
	if (size > bytes->size - at)
		size = bytes->size - at;
	if (size)
		memmove(bytes->data + at, bytes->data + at + size, bytes->size - at - size);
	bytes->size -= size;
}

/* Changes one place in a section. */
static void mutate(struct contents *contents, uint64_t *seed)
{
	static const uint64_t extremes[] = { 0, 1, 2, 127, 128, 255, UINT16_MAX, 1u << 20, INT32_MAX, UINT32_MAX,
					     1ull << 32, 1ull << 40, INT64_MAX, UINT64_MAX - 1, UINT64_MAX };
	struct mf_bytes *bytes = &contents->sections[1 + oracle_below(seed, MF_SECTION_TYPES - 1)], number = { 0 };
	const struct mf_bytes *other = &contents->sections[1 + oracle_below(seed, MF_SECTION_TYPES - 1)];
	size_t at = oracle_below(seed, bytes->size + 1), from = oracle_below(seed, other->size + 1);
	uint8_t byte = (uint8_t)oracle_random(seed);

	switch (oracle_below(seed, 6)) {
	case 0:
		if (at < bytes->size)
			bytes->data[at] ^= (uint8_t)(1 << oracle_below(seed, 8));
		break;
	case 1:
		if (at < bytes->size)
			bytes->data[at] = byte;
		break;
	case 2:
		insert(bytes, at, &byte, 1);
		break;
	case 3:
		delete(bytes, at, 1 + oracle_below(seed, 8));
		break;
	case 4:
		mf_bytes_add(&number, other->data + from, oracle_below(seed, other->size - from + 1));
		insert(bytes, at, number.data, number.size);
		break;
	default:
		mf_bytes_add_unsigned(&number, extremes[oracle_below(seed, sizeof(extremes) / sizeof(*extremes))]);
		delete(bytes, at, 1);
		insert(bytes, at, number.data, number.size);
	}
	mf_bytes_deinit(&number);
}

#define MUTATIONS 10000

/* Whatever a section contains, the file is refused with a message, or read as a profile that can be exported. */
TEST_F_TIMEOUT(process, with_any_contents_is_endured, 120)
{
	FILE *out = fopen("/dev/null", "we");
	size_t n_read = 0;

	ASSERT_NE(NULL, out);
	for (uint64_t i = 0; i < MUTATIONS; i++) {
		const struct mf_report_options options = {
			.threshold = i & 1, .depth = i & 2 ? 200 : 30, .show_below_main = i & 4, .keep_unloaded = i & 8,
		};
		struct mf_error err = { 0 };
		struct mf_recording recording;
		struct contents contents = { 0 };
		uint64_t seed = i;

		for (size_t type = 1; type < MF_SECTION_TYPES; type++)
			mf_bytes_add(&contents.sections[type], self->contents.sections[type].data,
				     self->contents.sections[type].size);
		if (i % 3 == 0)
			contents.sections[MF_SECTION_COUNTS].size = 0;
		if (i % 5 == 0)
			contents.sections[MF_SECTION_BLOCKS].size = contents.sections[MF_SECTION_DETAILS].size =
				contents.sections[MF_SECTION_AGES].size = 0;
		if (i % 7 == 0)
			contents.sections[MF_SECTION_AGES].size = 0;
		for (uint64_t n = 1 + oracle_below(&seed, 3); n > 0; n--)
			mutate(&contents, &seed);
		if (read_contents(&contents, &recording, &err)) {
			ASSERT_NE('\0', err.text[0]);
		} else {
			n_read++;
			ASSERT_TRUE(is_right(recording.processes[0])) {
				TH_LOG("mutation %llu", (unsigned long long)i);
			}
			ASSERT_TRUE(export(recording.processes[0], &options, out));
			mf_recording_release(&recording);
		}
		contents_release(&contents);
	}
	/* Of both kinds there are many. */
	EXPECT_LT(MUTATIONS / 10, n_read);
	EXPECT_GT(MUTATIONS / 10 * 9, n_read);
	fclose(out);
}

/* Each inlined call of a frame is printed for each stack that contains it, so that many would make a report endless. */
TEST_F(process, has_few_inlined_calls)
{
	static const size_t numbers[] = { 0, 1, MF_POSITIONS_MAX, MF_POSITIONS_MAX + 1, 10 * MF_POSITIONS_MAX };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		struct mf_bytes *names = &self->contents.sections[MF_SECTION_NAMES];
		bool right = numbers[i] && numbers[i] <= MF_POSITIONS_MAX;
		struct mf_recording recording;
		struct mf_error err = { 0 };

		names->size = 0;
		mf_bytes_add_unsigned(names, 0);
		/* The profile has seven frames. */
		for (size_t k = 0; k < 7; k++) {
			mf_bytes_add_unsigned(names, numbers[i]);
			for (size_t n = 0; n < 1 + 4 * numbers[i]; n++)
				mf_bytes_add_unsigned(names, 0);
		}
		EXPECT_EQ(right ? 0 : -EBADMSG, read_contents(&self->contents, &recording, &err)) {
			TH_LOG("%zu calls: %s", numbers[i], err.text);
		}
		if (right)
			mf_recording_release(&recording);
	}
}

/* A section of details: what was lost, and for each of the five contexts the largest block and two lists of classes. */
static const struct {
	const char *what;
	uint64_t numbers[24];
	bool right;
} wrong_details[] = {
	{ "nothing but empty lists", { 0 }, true },
	{ "one class", { 0, 9, 1, 47, 1 }, true },
	{ "a class that does not exist", { 0, 9, 1, 48, 1 }, false },
	{ "a much larger class", { 0, 9, 1, 470, 1 }, false },
	{ "a class without blocks", { 0, 9, 1, 3, 0 }, false },
	{ "a class twice", { 0, 9, 2, 3, 1, 3, 1 }, false },
	{ "classes in the wrong order", { 0, 9, 2, 3, 1, 2, 1 }, false },
	{ "too many classes", { 0, 9, 49, 0, 1, 1, 1, 2, 1, 3, 1 }, false },
	{ "endless classes", { 0, 9, UINT64_MAX }, false },
};

TEST_F(process, has_right_details)
{
	for (size_t i = 0; i < sizeof(wrong_details) / sizeof(wrong_details[0]); i++) {
		struct mf_bytes *section = &self->contents.sections[MF_SECTION_DETAILS];
		struct mf_recording recording;
		struct mf_error err = { 0 };

		section->size = 0;
		for (size_t k = 0; k < 24; k++)
			mf_bytes_add_unsigned(section, wrong_details[i].numbers[k]);
		EXPECT_EQ(wrong_details[i].right ? 0 : -EBADMSG, read_contents(&self->contents, &recording, &err)) {
			TH_LOG("%s: %s", wrong_details[i].what, err.text);
		}
		mf_recording_release(&recording);
	}
}

/* A section of ages: for each of the five contexts a list of classes. */
static const struct {
	const char *what;
	uint64_t numbers[9];
	size_t n;
	bool right;
} wrong_ages[] = {
	{ "nothing but empty lists", { 0 }, 5, true },
	{ "one class", { 1, 47, 1 }, 7, true },
	{ "two classes", { 0, 2, 0, 5, 1, UINT64_MAX }, 9, true },
	{ "the list of a context is missing", { 1, 47, 1 }, 6, false },
	{ "nothing", { 0 }, 0, false },
	{ "a class that does not exist", { 1, 48, 1 }, 7, false },
	{ "a class without blocks", { 1, 3, 0 }, 7, false },
	{ "a class twice", { 2, 3, 1, 3, 1 }, 9, false },
	{ "classes in the wrong order", { 2, 3, 1, 2, 1 }, 9, false },
	{ "too many classes", { 49, 0, 1, 1, 1, 2, 1, 3, 1 }, 9, false },
	{ "endless classes", { UINT64_MAX }, 9, false },
};

TEST_F(process, has_right_ages)
{
	struct mf_bytes *section = &self->contents.sections[MF_SECTION_AGES];
	struct mf_recording recording;
	struct mf_error err = { 0 };

	for (size_t i = 0; i < sizeof(wrong_ages) / sizeof(wrong_ages[0]); i++) {
		section->size = 0;
		for (size_t k = 0; k < wrong_ages[i].n; k++)
			mf_bytes_add_unsigned(section, wrong_ages[i].numbers[k]);
		/* A section of a recording that has ages may be empty only if the recording has no contexts. */
		if (!section->size)
			mf_bytes_add(section, "\200", 1);
		EXPECT_EQ(wrong_ages[i].right ? 0 : -EBADMSG, read_contents(&self->contents, &recording, &err)) {
			TH_LOG("%s: %s", wrong_ages[i].what, err.text);
		}
		mf_recording_release(&recording);
	}
	/* Ages belong to details; without ages, there can be details. */
	section->size = 0;
	EXPECT_EQ(0, read_contents(&self->contents, &recording, &err));
	EXPECT_NE(NULL, recording.processes[0]->profile.details);
	EXPECT_FALSE(recording.processes[0]->profile.has_ages);
	mf_recording_release(&recording);
	for (size_t i = 0; i < 5; i++)
		mf_bytes_add_unsigned(section, 0);
	self->contents.sections[MF_SECTION_DETAILS].size = 0;
	EXPECT_EQ(-EBADMSG, read_contents(&self->contents, &recording, &err));
	EXPECT_NE(NULL, strstr(err.text, "the ages of process"));
	mf_recording_release(&recording);
}

/* 3 + 5 + 3 leaves have blocks. */
TEST_F(process, has_blocks_of_all_leaves)
{
	static const struct {
		size_t n;
		uint64_t blocks;
		bool right;
	} cases[] = {
		{ 11, UINT32_MAX, true }, { 11, 1ull + UINT32_MAX, false }, { 11, UINT64_MAX, false },
		{ 10, 1, false }, { 1, 1, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct mf_bytes *section = &self->contents.sections[MF_SECTION_BLOCKS];
		struct mf_recording recording;
		struct mf_error err = { 0 };

		section->size = 0;
		for (size_t k = 0; k < cases[i].n; k++)
			mf_bytes_add_unsigned(section, cases[i].blocks);
		EXPECT_EQ(cases[i].right ? 0 : -EBADMSG, read_contents(&self->contents, &recording, &err)) {
			TH_LOG("case %zu: %s", i, err.text);
		}
		mf_recording_release(&recording);
	}
}

TEST(control_characters)
{
	static const struct {
		const char *text, *clean, *json;
	} texts[] = {
		{ "", "", "\"\"" },
		{ "f(int)", "f(int)", "\"f(int)\"" },
		{ "a\nb\033[1m\177", "a?b?[1m?", "\"a\\u000ab\\u001b[1m\\u007f\"" },
		{ "\302\233m\303\251", "?m\303\251", "\"\\u009bm\303\251\"" },
		{ "\302\240", "\302\240", "\"\302\240\"" },
		{ "\302", "\302", "\"\\ufffd\"" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char *text = strdup(texts[i].text), *json = NULL;
		size_t size;
		FILE *out = open_memstream(&json, &size);

		mf_printable_clean(text);
		EXPECT_STREQ(texts[i].clean, text);
		mf_json_print_text(out, texts[i].text);
		fclose(out);
		EXPECT_STREQ(texts[i].json, json);
		free(json);
		free(text);
	}
}

/* The last letter of @text, which occurs in the section once, becomes an escape character. */
static void spoil(struct mf_bytes *section, const char *text)
{
	uint8_t *at = memmem(section->data, section->size, text, strlen(text));

	if (at)
		at[strlen(text) - 1] = '\033';
}

TEST_F(process, has_names_without_control_characters)
{
	const struct mf_location *locations;
	const struct mf_recorded *process;
	struct mf_recording recording;

	spoil(&self->contents.sections[MF_SECTION_OBJECTS], "/lib/library.so");
	spoil(&self->contents.sections[MF_SECTION_NAMES], "inner");
	ASSERT_EQ(0, read_contents(&self->contents, &recording, NULL));
	process = recording.processes[0];
	EXPECT_STREQ("/lib/library.s?", process->profile.objects[2].path);
	EXPECT_EQ(2, mf_symbolizer_resolve(process->symbolizer, stacks[0][0], &locations));
	EXPECT_STREQ("inne?", locations[0].function);
	mf_recording_release(&recording);
}

/* The same of a massif.out file. */
TEST(text_has_names_without_control_characters)
{
	static const char text[] =
		"desc: (none)\ncmd: ./p\ntime_unit: i\nsnapshot=0\ntime=0\nmem_heap_B=5\nmem_heap_extra_B=0\n"
		"mem_stacks_B=0\nheap_tree=peak\nn1: 5 (heap allocation functions)\n n0: 5 0x10: ma\033in (a\t.c:3)\n";
	int fd = memfd_create("massif.out", MFD_CLOEXEC);
	const struct mf_location *locations;
	const struct mf_recorded *process;
	struct mf_recording recording;
	char path[32];

	ASSERT_EQ(sizeof(text) - 1, write(fd, text, sizeof(text) - 1));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ASSERT_EQ(0, mf_recording_read(path, &recording, NULL));
	close(fd);
	process = recording.processes[0];
	ASSERT_EQ(1, process->n_frames);
	EXPECT_EQ(1, mf_symbolizer_resolve(process->symbolizer, process->frames[0], &locations));
	EXPECT_STREQ("ma?in", locations[0].function);
	EXPECT_STREQ("a?.c", locations[0].file);
	mf_recording_release(&recording);
}

TEST_F(process, has_objects_that_end_after_their_start)
{
	static const uint64_t lengths[] = { 0, UINT64_MAX - 2, UINT64_MAX - 1, UINT64_MAX };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct mf_bytes *section = &self->contents.sections[MF_SECTION_OBJECTS];
		struct mf_recording recording;

		/* The profile has four objects. The first begins at address 2. */
		section->size = 0;
		mf_bytes_add_unsigned(section, 4);
		for (size_t k = 0; k < 40; k++)
			mf_bytes_add_unsigned(section, k == 1 ? 2 : k == 2 ? lengths[i] : 0);
		EXPECT_EQ(lengths[i] < UINT64_MAX - 1 ? 0 : -EBADMSG, read_contents(&self->contents, &recording, NULL)) {
			TH_LOG("case %zu", i);
		}
		mf_recording_release(&recording);
	}
}

/* Another file can be larger than memory. */
TEST(other_files_are_not_read_whole)
{
	int fd = memfd_create("other", MFD_CLOEXEC);
	struct mf_recording recording;
	char path[32];

	ASSERT_EQ(0, ftruncate(fd, 1ll << 40));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	EXPECT_EQ(-EINVAL, mf_recording_read(path, &recording, NULL));
	ASSERT_EQ(0, ftruncate(fd, 0));
	EXPECT_EQ(-EINVAL, mf_recording_read(path, &recording, NULL));
	close(fd);
}

/* Times that differ can be equal as doubles. The highest total, just before the end, is in the last column. */
TEST(curve_of_large_times)
{
	static const struct mf_profile_snapshot late[] = {
		{ .time = INT64_MIN, .heap_bytes = 1 }, { .time = INT64_MAX - 1, .heap_bytes = 5 }, { .time = INT64_MAX },
	};
	const struct mf_profile profile = { .snapshots = late, .n_snapshots = 3 };
	struct mf_terminal terminal = { .width = 80 };
	char *text = NULL;
	size_t size;

	terminal.out = open_memstream(&text, &size);
	mf_curve_draw(&terminal, &profile, 2);
	fclose(terminal.out);
	EXPECT_NE(NULL, strstr(text, "5 B |"));
	EXPECT_NE(NULL, strstr(text, "#\n"));
	free(text);
}

/* The numbers of blocks of a file can be so large that their sum overflows. No bar is longer than that of the sum. */
TEST(sizes_of_too_many_blocks)
{
	static const struct mf_size_class too_many[MF_SIZE_CLASSES] = { [3] = { UINT64_MAX, 7 }, [4] = { 9, UINT64_MAX } };
	const struct mf_profile profile = { .sizes = too_many };
	struct mf_terminal terminal = { .width = 80 };
	char *text = NULL;
	size_t size;

	terminal.out = open_memstream(&text, &size);
	EXPECT_EQ(0, mf_size_table_print(&terminal, &profile, NULL));
	fclose(terminal.out);
	EXPECT_NE(NULL, strstr(text, "  ####################\n"));
	EXPECT_EQ(NULL, strstr(text, "#####################"));
	free(text);
}

TEST_HARNESS_MAIN
