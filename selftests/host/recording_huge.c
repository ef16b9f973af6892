// SPDX-License-Identifier: GPL-2.0
// Recordings and massif.out files of very many stacks, or snapshots: every command reads them, in time and memory that
// grow with their number. 100,000 stacks by default; MASSIF_STACKS is another number (make check-recordings: 1,000,000).

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "base/bytes.h"
#include "profile/profile.h"
#include "recording/facts.h"
#include "recording/section.h"
#include "recording/writer.h"
#include "report/massif_file.h"
#include "report/options.h"
#include "selftests/lib/ctl_run.h"
#include "symbols/symbolizer.h"

#define LEVELS	  12u	/* calls of a stack below main; each function calls about four others */
#define FUNCTIONS 20000u
#define TREES	  3u	/* the trees of the snapshots are alternately one of these */
#define SITE_BYTES 64u

/* CPU time and memory that a command may need for each stack, and for a program without any. */
#define TIME_MS_EACH	 0.1
#define TIME_MS_BASE	 4000
#define MEMORY_KIB_EACH	 1.5
#define MEMORY_KIB_BASE	 100000

static const struct mf_object objects[] = {
	{ .kind = MF_OBJECT_UNKNOWN },
	{ .kind = MF_OBJECT_FILE, .start = 0x400000, .end = 0x4000000, .path = "/bin/huge" },
};

static struct mf_frame frame_of(uint32_t function)
{
	return (struct mf_frame){ 0x400000 + 32 * (uint64_t)function, 1 };
}

/* The stacks are the leaves of a tree: stack @number has its own path, and shares its outer calls with its neighbours. */
static uint32_t read_context(const void *source, uint32_t number, struct mf_frame *frames)
{
	uint32_t n = 0;

	for (uint32_t level = 0; level < LEVELS; level++) {
		uint32_t node = number >> (level < 10 ? 2 * level : 20);

		frames[n++] = frame_of(1 + (node * 2654435761u + level * 977) % (FUNCTIONS - 1));
	}
	/* Calls with the same parent differ. */
	frames[0] = frame_of(FUNCTIONS + (number & 3));
	frames[n++] = frame_of(0);
	return n;
}

/* A profile, with all that it refers to. */
struct huge {
	struct mf_profile profile;
	struct mf_profile_snapshot *snapshots; /* one more than the profile has: the end */
	struct mf_leaf *leaves[TREES];
	struct mf_counts *counts;
	struct mf_symbolizer *symbolizer;
	struct mf_location *locations;
	char (*names)[32];
};

static uint64_t bytes_of(uint32_t stack, uint32_t tree)
{
	return SITE_BYTES + stack * 40503u % 4096 * 8 + 16 * tree * (stack % 7);
}

/* Every @step-th snapshot has a tree, and the end. */
static bool fill_snapshots(struct huge *huge, size_t n_stacks, size_t n_snapshots, size_t step)
{
	uint64_t sums[TREES] = { 0 };

	for (uint32_t tree = 0; tree < TREES; tree++) {
		huge->leaves[tree] = calloc(n_stacks, sizeof(struct mf_leaf));
		if (!huge->leaves[tree])
			return false;
		for (uint32_t i = 0; i < n_stacks; i++) {
			huge->leaves[tree][i] = (struct mf_leaf){ .context = i, .bytes = bytes_of(i, tree) };
			sums[tree] += bytes_of(i, tree);
		}
	}
	huge->snapshots = calloc(n_snapshots + 1, sizeof(*huge->snapshots));
	for (size_t i = 0; huge->snapshots && i <= n_snapshots; i++) {
		bool has_tree = i == n_snapshots || i % step == step - 1;
		size_t tree = i / step % TREES;

		huge->snapshots[i] = (struct mf_profile_snapshot){ .time = (int64_t)(10 * i), .heap_bytes = 1000 };
		if (!has_tree)
			continue;
		huge->snapshots[i].heap_bytes = sums[tree];
		huge->snapshots[i].tree = i < step ? MF_TREE_PEAK : MF_TREE_DETAILED;
		huge->snapshots[i].leaves = huge->leaves[tree];
		huge->snapshots[i].n_leaves = huge->snapshots[i].n_seen = n_stacks;
	}
	return huge->snapshots;
}

static bool fill_counts(struct huge *huge, size_t n_stacks)
{
	huge->counts = calloc(n_stacks, sizeof(*huge->counts));
	for (uint32_t i = 0; huge->counts && i < n_stacks; i++)
		huge->counts[i] = (struct mf_counts){ 1 + i % 5, bytes_of(i, 0) * (1 + i % 5), i % 2, 1 };
	return huge->counts;
}

static bool fill_names(struct huge *huge)
{
	const struct mf_symbolizer_options closed = { .closed = true };

	huge->locations = calloc(FUNCTIONS + 4, sizeof(*huge->locations));
	huge->names = calloc(FUNCTIONS + 4, sizeof(*huge->names));
	if (!huge->locations || !huge->names || mf_symbolizer_create(objects, 2, &closed, &huge->symbolizer, NULL))
		return false;
	for (uint32_t i = 0; i < FUNCTIONS + 4; i++) {
		snprintf(huge->names[i], sizeof(huge->names[i]), i ? "function_%u" : "main", i);
		huge->locations[i] = (struct mf_location){ .function = huge->names[i], .file = "huge.c", .line = i + 1 };
		if (!mf_symbolizer_give(huge->symbolizer, frame_of(i), &huge->locations[i], 1))
			return false;
	}
	return true;
}

static bool make(struct huge *huge, size_t n_stacks, size_t n_snapshots, size_t step)
{
	*huge = (struct huge){ .profile = {
		.desc = "(none)", .cmd = "huge", .time_unit = MF_TIME_MS, .objects = objects, .n_objects = 2,
		.read_context = read_context, .n_contexts = n_stacks, .n_snapshots = n_snapshots,
	} };
	if (!fill_snapshots(huge, n_stacks, n_snapshots, step) || !fill_counts(huge, n_stacks) || !fill_names(huge))
		return false;
	huge->profile.snapshots = huge->snapshots;
	huge->profile.counts = huge->counts;
	return true;
}

static void discard(struct huge *huge)
{
	mf_symbolizer_destroy(huge->symbolizer);
	for (uint32_t tree = 0; tree < TREES; tree++)
		free(huge->leaves[tree]);
	free(huge->snapshots);
	free(huge->counts);
	free(huge->locations);
	free(huge->names);
}

static bool write_recording(const struct huge *huge, const char *path)
{
	static const struct mf_facts facts = {
		.pid = 7, .name = "huge", .cmd = "huge", .desc = "(none)", .time_unit = MF_TIME_MS, .version = "0",
	};
	const struct mf_profile_snapshot *end = &huge->snapshots[huge->profile.n_snapshots];
	struct mf_bytes file = { 0 };
	FILE *out = fopen(path, "we");
	bool fine;

	mf_section_add_magic(&file);
	fine = out && !mf_recording_add(&file, &facts, &huge->profile, end, huge->symbolizer, NULL) &&
	       fwrite(file.data, 1, file.size, out) == file.size;
	mf_bytes_deinit(&file);
	return out && !fclose(out) && fine;
}

static bool write_text(const struct huge *huge, const char *path)
{
	struct mf_report_options options;
	FILE *out = fopen(path, "we");
	bool fine;

	mf_report_options_init(&options);
	options.threshold = 0;
	fine = out && !mf_massif_file_write(out, &huge->profile, &options, huge->symbolizer, NULL);
	return out && !fclose(out) && fine;
}

static size_t n_chosen(void)
{
	const char *chosen = getenv("MASSIF_STACKS");

	return chosen ? strtoul(chosen, NULL, 10) : 100000;
}

FIXTURE(huge)
{
	size_t stacks, snapshots;
	struct huge huge;
	struct rusage usage;
	double seconds; /* CPU time: on a busy machine, the clock says little */
};

/* The chosen number is that of the stacks, or ten times that of the snapshots. */
FIXTURE_VARIANT(huge)
{
	size_t stacks, snapshots; /* 0: the chosen number decides */
	size_t step;
};

FIXTURE_VARIANT_ADD(huge, stacks) { .snapshots = 100, .step = 40 };
FIXTURE_VARIANT_ADD(huge, snapshots) { .stacks = 100, .step = 10 };

FIXTURE_SETUP(huge)
{
	ctl_remove_files("huge.");
	self->stacks = variant->stacks ?: n_chosen();
	self->snapshots = variant->snapshots ?: n_chosen() / 10;
	ASSERT_TRUE(make(&self->huge, self->stacks, self->snapshots, variant->step));
	ASSERT_TRUE(write_recording(&self->huge, "huge.rec"));
	ASSERT_TRUE(write_text(&self->huge, "huge.out"));
	discard(&self->huge);
}

FIXTURE_TEARDOWN(huge)
{
	ctl_remove_files("huge.");
}

static void to_file(void)
{
	if (!freopen("huge.text", "w", stdout))
		abort();
}

static int run(FIXTURE_DATA(huge) *self, const char *const *argv)
{
	int status;
	pid_t pid;

	pid = ctl_start(to_file, argv);
	if (wait4(pid, &status, 0, &self->usage) != pid)
		return -1;
	self->seconds = (double)(self->usage.ru_utime.tv_sec + self->usage.ru_stime.tv_sec) +
			(double)(self->usage.ru_utime.tv_usec + self->usage.ru_stime.tv_usec) / 1e6;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define WORDS 8

static const char *const commands[][WORDS] = {
	{ "massif-ctl", "show", "huge.rec" },
	{ "massif-ctl", "show", "--by=stack", "huge.rec" },
	{ "massif-ctl", "show", "--tree", "--threshold=0", "huge.rec" },
	{ "massif-ctl", "show", "--sort=calls", "huge.rec" },
	{ "massif-ctl", "diff", "huge.rec", "huge.rec" },
	{ "massif-ctl", "diff", "--by=stack", "huge.rec", "huge.out" },
	{ "massif-ctl", "check", "--max-peak=1T", "--max-allocations=1000000000", "huge.rec" },
	{ "massif-ctl", "check", "--max-leak-sites=100000", "huge.rec" },
	{ "massif-ctl", "export", "--threshold=0", "huge.rec" },
	{ "massif-ctl", "export", "--to=callgrind", "huge.rec" },
	{ "massif-ctl", "export", "--to=collapsed", "huge.rec" },
	{ "massif-ctl", "export", "--to=speedscope", "huge.rec" },
	{ "massif-ctl", "export", "--to=pprof", "huge.rec" },
	{ "massif-ctl", "export", "--to=json", "huge.rec" },
	{ "massif-ctl", "report", "-o", "-", "huge.rec" },
	{ "massif-ctl", "report", "-o", "-", "huge.out", "huge.rec" },
	{ "massif-ctl", "symbolize", "-o", "/dev/null", "huge.rec" },
	{ "massif-ctl", "show", "huge.out" },
	{ "massif-ctl", "show", "--tree", "--threshold=0", "huge.out" },
	{ "massif-ctl", "check", "--max-peak=1T", "huge.out" },
	{ "massif-ctl", "export", "--to=callgrind", "huge.out" },
	{ "massif-ctl", "export", "--to=collapsed", "huge.out" },
	{ "massif-ctl", "export", "--to=speedscope", "huge.out" },
	{ "massif-ctl", "export", "--to=pprof", "huge.out" },
	{ "massif-ctl", "export", "--to=json", "huge.out" },
};

TEST_F_TIMEOUT(huge, is_read_by_every_command, 3600)
{
	struct stat recording, text;

	ASSERT_EQ(0, stat("huge.rec", &recording));
	ASSERT_EQ(0, stat("huge.out", &text));
	TH_LOG("%zu stacks, %zu snapshots: huge.rec %lld bytes, huge.out %lld bytes", self->stacks, self->snapshots,
	       (long long)recording.st_size, (long long)text.st_size);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct stat output;
		char words[256] = "";

		for (size_t k = 1; k < WORDS && commands[i][k]; k++)
			snprintf(words + strlen(words), sizeof(words) - strlen(words), "%s ", commands[i][k]);
		EXPECT_EQ(0, run(self, commands[i]));
		ASSERT_EQ(0, stat("huge.text", &output));
		TH_LOG("%6.2f s %8ld KiB %11lld bytes  %s", self->seconds, self->usage.ru_maxrss,
		       (long long)output.st_size, words);
		EXPECT_LT(100, output.st_size);
		EXPECT_GT(TIME_MS_BASE + TIME_MS_EACH * (double)n_chosen(), 1000 * self->seconds);
		EXPECT_GT(MEMORY_KIB_BASE + MEMORY_KIB_EACH * (double)n_chosen(), (double)self->usage.ru_maxrss);
	}
}

TEST_HARNESS_MAIN
