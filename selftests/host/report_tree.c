// SPDX-License-Identifier: GPL-2.0
// The text of a profile: merged entries, sums, order, complete files, and failed writes.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "base/cleanup.h"
#include "report/massif_file.h"
#include "selftests/lib/report_fake.h"

#define CONTEXTS_MAX 8
#define ROOT(n, bytes) "n" #n ": " #bytes \
	" (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n"
#define HERE " (in /bin/fake)\n"
#define BELOW_1 ", below massif's threshold (1.00%)\n"
#define ALL_BELOW_1 ", all below massif's threshold (1.00%)\n"

struct stack_bytes {
	const char *stack; /* names of frames, see report_fake.h; each new name gets a higher address */
	uint64_t bytes;
};

static const struct {
	const char *what;
	struct stack_bytes contexts[CONTEXTS_MAX];
	uint64_t extra, stacks;
	double threshold;
	uint32_t depth; /* value of --depth; 0: the default */
	const char *tree;
} cases[] = {
	{ "two places", { { "f|main", 600 }, { "g|main", 400 } }, .threshold = 1,
	  .tree = ROOT(2, 1000)
		  " n1: 600 0x10: f" HERE
		  "  n0: 600 0x20: main" HERE
		  " n1: 400 0x30: g" HERE
		  "  n0: 400 0x20: main" HERE },
	{ "no place", { { NULL } }, .threshold = 1, .tree = ROOT(0, 0) },
	{ "one place reached from two", { { "f|g|main", 10 }, { "f|h|main", 20 } }, .threshold = 1,
	  .tree = ROOT(1, 30)
		  " n2: 30 0x10: f" HERE
		  "  n1: 20 0x40: h" HERE
		  "   n0: 20 0x30: main" HERE
		  "  n1: 10 0x20: g" HERE
		  "   n0: 10 0x30: main" HERE },
	{ "one stack twice", { { "f|main", 10 }, { "f|main", 5 } }, .threshold = 1,
	  .tree = ROOT(1, 15)
		  " n1: 15 0x10: f" HERE
		  "  n0: 15 0x20: main" HERE },
	{ "a stack that ends where another goes on", { { "f|main", 10 }, { "f", 20 } },
	  .threshold = 1,
	  .tree = ROOT(1, 30)
		  " n1: 30 0x10: f" HERE
		  "  n0: 10 0x20: main" HERE },
	{ "recursion", { { "r|r|r|main", 10 }, { "r|main", 90 } }, .threshold = 1, .depth = 3,
	  .tree = ROOT(1, 100)
		  " n2: 100 0x10: r" HERE
		  "  n0: 90 0x20: main" HERE
		  "  n1: 10 0x10: r" HERE
		  "   n0: 10 0x10: r" HERE },
	{ "inlined calls", { { "in/mid/out|main", 8 } }, .threshold = 1,
	  .tree = ROOT(1, 8)
		  " n1: 8 0x10: in" HERE
		  "  n1: 8 0x10: mid" HERE
		  "   n1: 8 0x10: out" HERE
		  "    n0: 8 0x20: main" HERE },
	{ "below inlined calls all may be merged",
	  { { "in/out|a", 1000 }, { "in/out|b", 5 }, { "c", 8995 } }, .threshold = 1,
	  .tree = ROOT(2, 10000)
		  " n0: 8995 0x40: c" HERE
		  " n1: 1005 0x10: in" HERE
		  "  n2: 1005 0x10: out" HERE
		  "   n0: 1000 0x20: a" HERE
		  "   n0: 5 in 1 place" BELOW_1 },

	{ "equal sizes: the lower address first",
	  { { "z|c|b|a|main", 0 }, { "main", 5 }, { "a", 5 }, { "b", 5 }, { "c", 5 } },
	  .threshold = 1, .depth = 1,
	  .tree = ROOT(5, 20)
		  " n0: 5 0x20: c" HERE
		  " n0: 5 0x30: b" HERE
		  " n0: 5 0x40: a" HERE
		  " n0: 5 0x50: main" HERE
		  " n0: 0 0x10: z" HERE },
	{ "the merged ones stand where their sum belongs",
	  { { "a", 500 }, { "b", 90 }, { "c", 90 }, { "d", 170 }, { "e", 150 } }, .threshold = 10,
	  .tree = ROOT(4, 1000)
		  " n0: 500 0x10: a" HERE
		  " n0: 180 in 2 places, all below massif's threshold (10.00%)\n"
		  " n0: 170 0x40: d" HERE
		  " n0: 150 0x50: e" HERE },
	{ "and before an equal one", { { "d", 180 }, { "b", 90 }, { "c", 90 }, { "a", 640 } },
	  .threshold = 10,
	  .tree = ROOT(3, 1000)
		  " n0: 640 0x40: a" HERE
		  " n0: 180 in 2 places, all below massif's threshold (10.00%)\n"
		  " n0: 180 0x10: d" HERE },
	{ "places are addresses, not stacks",
	  { { "a|x", 3 }, { "a|y", 4 }, { "b", 993 } }, .threshold = 1,
	  .tree = ROOT(2, 1000)
		  " n0: 993 0x40: b" HERE
		  " n0: 7 in 1 place" BELOW_1 },
	{ "everything merged", { { "a", 30 }, { "b", 40 }, { "c", 30 } }, .threshold = 99.995,
	  .tree = ROOT(1, 100)
		  " n0: 100 in 3 places, all below massif's threshold (100.00%)\n" },

	{ "exactly at the cut", { { "a", 90 }, { "b", 10 } }, .extra = 600, .stacks = 300,
	  .threshold = 1,
	  .tree = ROOT(2, 100)
		  " n0: 90 0x10: a" HERE
		  " n0: 10 0x20: b" HERE },
	{ "one below, for overhead and stacks count", { { "a", 90 }, { "b", 10 } }, .extra = 600,
	  .stacks = 400, .threshold = 1,
	  .tree = ROOT(2, 100)
		  " n0: 90 0x10: a" HERE
		  " n0: 10 in 1 place" BELOW_1 },
	{ "the cut is truncated", { { "a", 198 }, { "b", 1 } }, .threshold = 1,
	  .tree = ROOT(2, 199)
		  " n0: 198 0x10: a" HERE
		  " n0: 1 0x20: b" HERE },
	{ "empty places are places", { { "a", 100 }, { "b", 0 }, { "c", 0 } }, .threshold = 1,
	  .tree = ROOT(2, 100)
		  " n0: 100 0x10: a" HERE
		  " n0: 0 in 2 places" ALL_BELOW_1 },
	{ "which are shown if the cut is nothing", { { "a", 99 }, { "b", 0 } }, .threshold = 1,
	  .tree = ROOT(2, 99)
		  " n0: 99 0x10: a" HERE
		  " n0: 0 0x20: b" HERE },
	{ "or the threshold", { { "a", 1000000 }, { "b", 0 } }, .threshold = 0,
	  .tree = ROOT(2, 1000000)
		  " n0: 1000000 0x10: a" HERE
		  " n0: 0 0x20: b" HERE },
	{ "nothing but empty places", { { "a|main", 0 }, { "b|main", 0 } }, .threshold = 1,
	  .tree = ROOT(1, 0)
		  " n0: 0 in 2 places" ALL_BELOW_1 },
	{ "although there are stacks", { { "a|main", 0 } }, .stacks = 10, .threshold = 0.001,
	  .tree = ROOT(1, 0)
		  " n0: 0 in 1 place, below massif's threshold (0.00%)\n" },
	{ "nothing but empty places, threshold 0", { { "a", 0 }, { "b|main", 0 } }, .threshold = 0,
	  .tree = ROOT(2, 0)
		  " n0: 0 0x10: a" HERE
		  " n1: 0 0x20: b" HERE
		  "  n0: 0 0x30: main" HERE },

	{ "ignored blocks do not count", { { "f|main", 7 }, { "malloc|calloc", 50 } },
	  .threshold = 1,
	  .tree = ROOT(1, 7)
		  " n1: 7 0x10: f" HERE
		  "  n0: 7 0x20: main" HERE },
	{ "no name", { { "?|main", 7 } }, .threshold = 1,
	  .tree = ROOT(1, 7)
		  " n1: 7 0x10: ?\?\?" HERE
		  "  n0: 7 0x20: main" HERE },
};

/* A profile with one detailed snapshot, and the memory that it uses. */
struct sample {
	struct mf_frame frames[CONTEXTS_MAX][FAKE_FRAMES_MAX];
	struct mf_context contexts[CONTEXTS_MAX];
	struct mf_leaf leaves[CONTEXTS_MAX];
	struct mf_profile_snapshot snapshot;
	struct mf_profile profile;
};

static uint32_t read_context(const void *source, uint32_t number, struct mf_frame *frames)
{
	const struct mf_context *context = (const struct mf_context *)source + number;

	memcpy(frames, context->frames, context->n_frames * sizeof(*frames));
	return context->n_frames;
}

static struct sample *make_sample(const struct stack_bytes *contexts)
{
	struct sample *s = calloc(1, sizeof(*s));
	size_t n = 0;

	fake_reset();
	for (; n < CONTEXTS_MAX && contexts[n].stack; n++) {
		s->contexts[n].frames = s->frames[n];
		s->contexts[n].n_frames = (uint32_t)fake_stack(contexts[n].stack, s->frames[n]);
		s->leaves[n] = (struct mf_leaf){ .context = (uint32_t)n, .bytes = contexts[n].bytes };
		s->snapshot.heap_bytes += contexts[n].bytes;
	}
	s->snapshot.tree = MF_TREE_DETAILED;
	s->snapshot.leaves = s->leaves;
	s->snapshot.n_leaves = n;
	s->snapshot.n_seen = n;
	s->profile = (struct mf_profile){
		.desc = "(none)",
		.cmd = "prog",
		.time_unit = MF_TIME_BYTES,
		.objects = fake_objects,
		.n_objects = FAKE_OBJECTS,
		.read_context = read_context,
		.source = s->contexts,
		.n_contexts = n,
		.snapshots = &s->snapshot,
		.n_snapshots = 1,
	};
	return s;
}

static char *text_of(const struct mf_profile *profile, const struct mf_report_options *options)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (mf_massif_file_write(out, profile, options, NULL, NULL)) {
		fclose(out);
		free(text);
		return NULL;
	}
	fclose(out);
	return text;
}

TEST(trees)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		mf_auto_free struct sample *s = make_sample(cases[i].contexts);
		mf_auto_free char *text = NULL;
		struct mf_report_options options;
		const char *tree;

		s->snapshot.extra_bytes = cases[i].extra;
		s->snapshot.stack_bytes = cases[i].stacks;
		mf_report_options_init(&options);
		options.threshold = cases[i].threshold;
		if (cases[i].depth)
			options.depth = cases[i].depth;
		text = text_of(&s->profile, &options);
		ASSERT_TRUE(text);
		tree = strstr(text, "heap_tree=detailed\n");
		ASSERT_TRUE(tree);
		EXPECT_STREQ(cases[i].tree, tree + strlen("heap_tree=detailed\n")) {
			TH_LOG("%s", cases[i].what);
		}
	}
	fake_reset();
}

/* For a detailed snapshot, mem_heap_B is the sum of the tree, not the running total. */
TEST(whole_file)
{
	static const struct stack_bytes contexts[] = {
		{ "g|main", 40 }, { "f|main", 60 }, { "malloc", 1000 }, { NULL },
	};
	static const struct mf_leaf only_g[] = { { .context = 0, .bytes = 30 } };
	mf_auto_free struct sample *s = make_sample(contexts);
	const struct mf_profile_snapshot snapshots[] = {
		{ .time = 0 },
		{ .time = 1100, .heap_bytes = 1100, .extra_bytes = 24, .stack_bytes = 3,
		  .tree = MF_TREE_PEAK, .leaves = s->leaves, .n_leaves = 3,
		  .n_seen = 3 },
		{ .time = 1200, .heap_bytes = 1030, .extra_bytes = 8 },
		{ .time = -1, .heap_bytes = 1030, .tree = MF_TREE_DETAILED, .leaves = only_g,
		  .n_leaves = 1, .n_seen = 1 },
	};
	mf_auto_free char *text = NULL;
	struct mf_report_options options;

	s->profile.desc = "--time-unit=ms --depth=5";
	s->profile.cmd = "./prog  with  blanks";
	s->profile.time_unit = MF_TIME_MS;
	s->profile.pages = true;
	s->profile.snapshots = snapshots;
	s->profile.n_snapshots = ARRAY_SIZE(snapshots);
	mf_report_options_init(&options);
	text = text_of(&s->profile, &options);
#define BLOCK(n) "#-----------\nsnapshot=" #n "\n#-----------\n"
#define PAGES "(page allocation syscalls) mmap/mremap/brk, --alloc-fns, etc.\n"
	EXPECT_STREQ("desc: --time-unit=ms --depth=5\n"
		     "cmd: ./prog  with  blanks\n"
		     "time_unit: ms\n"
		     BLOCK(0) "time=0\nmem_heap_B=0\nmem_heap_extra_B=0\nmem_stacks_B=0\n"
		     "heap_tree=empty\n"
		     BLOCK(1) "time=1100\nmem_heap_B=100\nmem_heap_extra_B=24\nmem_stacks_B=3\n"
		     "heap_tree=peak\n"
		     "n2: 100 " PAGES
		     " n1: 60 0x30: f" HERE
		     "  n0: 60 0x20: main" HERE
		     " n1: 40 0x10: g" HERE
		     "  n0: 40 0x20: main" HERE
		     BLOCK(2) "time=1200\nmem_heap_B=1030\nmem_heap_extra_B=8\nmem_stacks_B=0\n"
		     "heap_tree=empty\n"
		     /*
		      * This snapshot's tree does not include the context of f, which was created after the snapshot:
		      * n_seen, the number of contexts when the snapshot was taken, is 1. If it included that context,
		      * the root would have two call sites below it.
		      */
		     BLOCK(3) "time=-1\nmem_heap_B=30\nmem_heap_extra_B=0\nmem_stacks_B=0\n"
		     "heap_tree=detailed\n"
		     "n1: 30 " PAGES
		     " n1: 30 0x10: g" HERE
		     "  n0: 30 0x20: main" HERE,
		     text);
	fake_reset();
}

/*
 * Of pages that are resident and others, the sum of the tree is the heap, and the extra bytes are none: massif-visualizer
 * takes the heap for the total.
 */
TEST(pages_of_both_kinds)
{
	static const struct stack_bytes contexts[] = { { "g|main", 40 }, { "f|main", 60 }, { NULL } };
	mf_auto_free struct sample *s = make_sample(contexts);
	const struct mf_profile_snapshot snapshots[] = {
		{ .time = 0, .heap_bytes = 7, .extra_bytes = 3 },
		{ .time = 1, .heap_bytes = 30, .extra_bytes = 70, .tree = MF_TREE_PEAK, .leaves = s->leaves, .n_leaves = 2,
		  .n_seen = 2 },
		{ .time = 2, .heap_bytes = 80, .extra_bytes = 0 },
	};
	mf_auto_free char *text = NULL;
	struct mf_report_options options;

	s->profile.time_unit = MF_TIME_MS;
	s->profile.pages = true;
	s->profile.what = MF_PAGES_BOTH;
	s->profile.snapshots = snapshots;
	s->profile.n_snapshots = ARRAY_SIZE(snapshots);
	mf_report_options_init(&options);
	/* An entry is kept if it has enough of all that is mapped. */
	options.threshold = 50;
	text = text_of(&s->profile, &options);
	EXPECT_STREQ(BLOCK(0) "time=0\nmem_heap_B=10\nmem_heap_extra_B=0\nmem_stacks_B=0\n"
		     "heap_tree=empty\n"
		     BLOCK(1) "time=1\nmem_heap_B=100\nmem_heap_extra_B=0\nmem_stacks_B=0\n"
		     "heap_tree=peak\n"
		     "n2: 100 (mapped pages) resident, first touched by; and not, mapped by\n"
		     " n1: 60 0x30: f" HERE
		     "  n0: 60 0x20: main" HERE
		     " n0: 40 in 1 place, below massif's threshold (50.00%)\n"
		     BLOCK(2) "time=2\nmem_heap_B=80\nmem_heap_extra_B=0\nmem_stacks_B=0\n"
		     "heap_tree=empty\n",
		     strstr(text, "#---"));
	fake_reset();
}

/*
 * An object that is unmapped and mapped again has the same code, so there is one call site. Different objects have
 * separate call sites.
 */
TEST(objects_are_code)
{
	const struct mf_object objects[] = {
		{ .kind = MF_OBJECT_UNKNOWN },
		{ .kind = MF_OBJECT_FILE, .path = "/bin/fake", .bias = 0x1000, .start = 1 },
		{ .kind = MF_OBJECT_FILE, .path = "/bin/fake", .bias = 0x1000, .start = 2 },
		{ .kind = MF_OBJECT_FILE, .path = "/bin/other", .bias = 0x1000 },
		{ .kind = MF_OBJECT_FILE, .path = "/bin/fake", .bias = 0x1000,
		  .build_id = { 1 }, .build_id_size = 1 },
	};
	static const struct stack_bytes contexts[] = {
		{ "f", 10 },  { "f", 20 },  { "f", 40 }, { "f", 80 },
		{ "f", 160 }, { "f", 320 }, { NULL },
	};
	mf_auto_free struct sample *s = make_sample(contexts);
	mf_auto_free char *text = NULL;
	struct mf_report_options options;
	const char *tree;

	for (uint32_t i = 0; i < 5; i++)
		s->frames[i][0].object = i;
	s->frames[5][0].object = 1000; /* the object does not exist, so the frame's name is unknown */
	s->profile.objects = objects;
	s->profile.n_objects = ARRAY_SIZE(objects);
	mf_report_options_init(&options);
	text = text_of(&s->profile, &options);
	ASSERT_TRUE(text);
	tree = strstr(text, "n4: ");
	ASSERT_TRUE(tree);
	EXPECT_STREQ(ROOT(4, 630)
		     " n0: 330 0x10: ?\?\?\n"
		     " n0: 160 0x10: ?\?\?\n"
		     " n0: 80 0x10: ?\?\?\n"
		     " n0: 60 0x10: f" HERE, tree);
	fake_reset();
}

TEST(failed_writes_are_told)
{
	static const struct {
		const char *path, *mode;
		int error;
	} outputs[] = {
		{ "/dev/full", "we", -ENOSPC },
		{ "/dev/null", "re", -EBADF },
	};
	static const struct stack_bytes contexts[] = { { "f|main", 60 }, { NULL } };

	for (size_t i = 0; i < ARRAY_SIZE(outputs); i++) {
		mf_auto_free struct sample *s = make_sample(contexts);
		mf_auto_fclose FILE *out = fopen(outputs[i].path, outputs[i].mode);
		struct mf_profile_snapshot many[100];
		struct mf_error err = { "" };
		struct mf_report_options options;

		ASSERT_TRUE(out);
		mf_report_options_init(&options);
		EXPECT_EQ(outputs[i].error,
			  mf_massif_file_write(out, &s->profile, &options, NULL, &err));
		EXPECT_TRUE(strstr(err.text, strerror(-outputs[i].error)));

		/* The text does not fit into the stream's buffer, so the error occurs in the middle of it. */
		for (size_t k = 0; k < ARRAY_SIZE(many); k++)
			many[k] = s->snapshot;
		s->profile.snapshots = many;
		s->profile.n_snapshots = ARRAY_SIZE(many);
		EXPECT_EQ(outputs[i].error,
			  mf_massif_file_write(out, &s->profile, &options, NULL, NULL));
	}
	fake_reset();
}

/* A name is looked up once per address, not once per context or snapshot. */
TEST(many_contexts_cost_no_names)
{
	enum { N = 20000, SNAPSHOTS = 50, WORDS = 40 };
	mf_auto_free struct mf_frame *frames = calloc(N, 6 * sizeof(*frames));
	mf_auto_free struct mf_context *contexts = calloc(N, sizeof(*contexts));
	mf_auto_free struct mf_leaf *leaves = calloc(N, sizeof(*leaves));
	struct mf_profile_snapshot snapshots[SNAPSHOTS];
	static const struct stack_bytes none[] = { { NULL } };
	mf_auto_free struct sample *s = make_sample(none);
	struct mf_report_options options;
	mf_auto_free char *text = NULL;
	uint32_t random = 1;

	for (uint64_t i = 0; i < WORDS; i++) {
		struct mf_frame unused[FAKE_FRAMES_MAX];
		char word[16];

		snprintf(word, sizeof(word), i ? "f%u" : "main", (unsigned int)i);
		fake_stack(word, unused);
	}
	for (size_t i = 0; i < N; i++) {
		for (size_t k = 0; k < 6; k++) {
			random = random * 1664525 + 1013904223;
			frames[i * 6 + k].object = 1;
			frames[i * 6 + k].pc = k == 5 ? 16 : 32 + random % (WORDS - 1) * 16;
		}
		contexts[i] = (struct mf_context){ &frames[i * 6], 6 };
		leaves[i] = (struct mf_leaf){ .context = (uint32_t)i, .bytes = random >> 20 };
	}
	for (size_t i = 0; i < SNAPSHOTS; i++) {
		snapshots[i] = (struct mf_profile_snapshot){
			.tree = MF_TREE_DETAILED,
			.leaves = leaves,
			.n_leaves = N / SNAPSHOTS * (i + 1),
			.n_seen = N / SNAPSHOTS * (i + 1),
		};
	}
	s->profile.source = contexts;
	s->profile.n_contexts = N;
	s->profile.snapshots = snapshots;
	s->profile.n_snapshots = SNAPSHOTS;
	mf_report_options_init(&options);
	text = text_of(&s->profile, &options);
	EXPECT_TRUE(text);
	EXPECT_GE(2 * WORDS, fake_functions_asked);
	fake_reset();
}

/*
 * The sums of a snapshot with few leaves are made in another way than those of a snapshot with many. So a profile is
 * written twice, with the leaves that have bytes, and with all leaves.
 */
TEST(few_of_many_contexts)
{
	enum { N = 4000, DEPTH = 4, WORDS = 12, SNAPSHOTS = 24 };
	static const uint32_t numbers[] = { 0, 1, 2, N / 16 - 1, N / 16, N / 16 + 1, N / 2, 7 };
	mf_auto_free struct mf_frame *frames = calloc(N, DEPTH * sizeof(*frames));
	mf_auto_free struct mf_context *contexts = calloc(N, sizeof(*contexts));
	mf_auto_free struct mf_leaf *few = calloc(SNAPSHOTS * N, sizeof(*few)), *all = calloc(SNAPSHOTS * N, sizeof(*all));
	static const struct stack_bytes none[] = { { NULL } };
	static const char *const ignored[] = { "f3" };
	struct mf_profile_snapshot snapshots[SNAPSHOTS];
	mf_auto_free struct sample *s = make_sample(none);
	struct mf_report_options options;
	mf_auto_free char *of_few = NULL, *of_all = NULL;
	uint32_t random = 1;

	for (uint64_t i = 0; i < WORDS; i++) {
		struct mf_frame unused[FAKE_FRAMES_MAX];
		char word[16];

		snprintf(word, sizeof(word), i ? "f%u" : "main", (unsigned int)i);
		fake_stack(word, unused);
	}
	for (size_t i = 0; i < N; i++) {
		uint32_t depth = DEPTH - (i % 7 == 0);

		for (size_t k = 0; k < depth; k++) {
			random = random * 1664525 + 1013904223;
			frames[i * DEPTH + k].object = 1;
			frames[i * DEPTH + k].pc = k + 1 == depth ? 16 : 32 + (random >> 16) % (WORDS - 1) * 16;
		}
		contexts[i] = (struct mf_context){ &frames[i * DEPTH], depth };
	}
	for (size_t i = 0; i < SNAPSHOTS; i++) {
		uint32_t n = numbers[i % ARRAY_SIZE(numbers)];

		for (uint32_t k = 0; k < N; k++) {
			random = random * 1664525 + 1013904223;
			all[i * N + k] = (struct mf_leaf){ .context = k };
			/* Every (N / n)th context. */
			if (n && (uint64_t)k * n / N != (uint64_t)(k + 1) * n / N)
				all[i * N + k].bytes = 1 + (random >> 16);
		}
		snapshots[i] = (struct mf_profile_snapshot){ .tree = MF_TREE_DETAILED, .leaves = &few[i * N], .n_seen = N };
		for (uint32_t k = 0; k < N; k++)
			if (all[i * N + k].bytes)
				few[i * N + snapshots[i].n_leaves++] = all[i * N + k];
		ASSERT_EQ(n, snapshots[i].n_leaves);
	}
	s->profile.source = contexts;
	s->profile.n_contexts = N;
	s->profile.snapshots = snapshots;
	s->profile.n_snapshots = SNAPSHOTS;
	for (int with_ignored = 0; with_ignored < 2; with_ignored++) {
		mf_report_options_init(&options);
		if (with_ignored)
			options.ignore_fns = (struct mf_strings){ .items = ignored, .count = 1 };
		for (size_t i = 0; i < SNAPSHOTS; i++) {
			uint32_t n = numbers[i % ARRAY_SIZE(numbers)];

			snapshots[i].leaves = &few[i * N];
			snapshots[i].n_leaves = n;
		}
		of_few = text_of(&s->profile, &options);
		for (size_t i = 0; i < SNAPSHOTS; i++) {
			snapshots[i].leaves = &all[i * N];
			snapshots[i].n_leaves = N;
		}
		of_all = text_of(&s->profile, &options);
		ASSERT_TRUE(of_few && of_all);
		EXPECT_LT(10000, strlen(of_few));
		EXPECT_EQ(0, strcmp(of_few, of_all));
		free(mf_take(of_few, NULL));
		free(mf_take(of_all, NULL));
	}
	fake_reset();
}

TEST_HARNESS_MAIN
