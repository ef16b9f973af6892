// SPDX-License-Identifier: GPL-2.0
// Recordings with --record-detail=full: sizes and lifetimes of the blocks of known programs, and live blocks at the peak.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>

#include "kselftest_harness.h"

#include "recording/reader.h"
#include "selftests/lib/ctl_run.h"

FIXTURE(details) {
	struct ctl_result result;
	struct mf_recording recording;
};

FIXTURE_SETUP(details)
{
	ctl_remove_files("massif.");
	personality(personality(0xffffffff) | ADDR_NO_RANDOMIZE);
}

FIXTURE_TEARDOWN(details)
{
	mf_recording_release(&self->recording);
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
	ctl_remove_files("detail");
	ctl_remove_files("out.");
}

#define RUN(...) (ctl_result_free(&self->result), CTL_RUN(&self->result, __VA_ARGS__), ctl_exit_code(&self->result))
#define RECORD(...) RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.1", \
			"--record-detail=full", "--peak-inaccuracy=0", __VA_ARGS__)

static bool compile(FIXTURE_DATA(details) *self, const char *text)
{
	ctl_write_file("detail.c", text, 0644);
	return !RUN("cc", "-O0", "-g", "-pthread", "-o", "detail", "detail.c");
}

static const struct mf_recorded *reread(FIXTURE_DATA(details) *self)
{
	mf_recording_release(&self->recording);
	if (mf_recording_read("massif.rec", &self->recording, NULL) || self->recording.n_processes == 0)
		return NULL;
	return self->recording.processes[0];
}

/* What the contexts of a process have together. */
struct sums {
	uint64_t sizes[MF_DETAIL_CLASSES], lifetimes[MF_DETAIL_CLASSES];
	uint64_t n_sizes, n_lifetimes; /* all blocks in these */
	uint64_t largest, allocations, live;
};

static struct sums add_up(const struct mf_profile *profile)
{
	struct sums sums = { 0 };

	for (size_t i = 0; i < profile->n_contexts; i++) {
		const struct mf_context_details *details = &profile->details[i];

		for (uint32_t k = 0; k < details->n_sizes; k++)
			sums.sizes[details->sizes[k].class] += details->sizes[k].count;
		for (uint32_t k = 0; k < details->n_lifetimes; k++)
			sums.lifetimes[details->lifetimes[k].class] += details->lifetimes[k].count;
		sums.largest = details->largest > sums.largest ? details->largest : sums.largest;
		sums.allocations += profile->counts[i].allocations;
		sums.live += profile->counts[i].live;
	}
	for (uint32_t i = 0; i < MF_DETAIL_CLASSES; i++) {
		sums.n_sizes += sums.sizes[i];
		sums.n_lifetimes += sums.lifetimes[i];
	}
	return sums;
}

static uint64_t blocks_in(const struct mf_profile_snapshot *snapshot)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < snapshot->n_leaves; i++)
		sum += snapshot->leaves[i].blocks;
	return sum;
}

/* Writes the classes that are not empty: "4:1000 10:3". */
static const char *text_of(const uint64_t *classes, char *text)
{
	char *at = text;

	*at = '\0';
	for (uint32_t i = 0; i < MF_DETAIL_CLASSES; i++)
		if (classes[i])
			at += sprintf(at, "%s%" PRIu32 ":%" PRIu64, at == text ? "" : " ", i, classes[i]);
	return text;
}

#define MAIN(text) "#include <malloc.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <unistd.h>\n" \
		   "int main(void) { " text " }"

/* Class k has numbers of more than 2^(k-1) and up to 2^k. */
static const struct {
	const char *what, *text;
	const char *sizes, *lifetimes;
	uint64_t largest, at_peak, live;
} programs[] = {
	{ "pairs, between which nothing is allocated", MAIN("for (int i = 0; i < 1000; i++) free(malloc(10));"),
	  "4:1000", "0:1000", 10, 1, 0 },
	{ "sizes at both ends of classes",
	  MAIN("static const int n[] = { 0, 1, 2, 3, 4, 5, 8, 9, 64, 65, 128, 129 };"
	       " for (int i = 0; i < 12; i++) free(malloc(n[i]));"),
	  "0:2 1:1 2:2 3:2 4:1 6:1 7:2 8:1", "0:12", 129, 1, 0 },
	/* Between the allocation and the free of a block, nine others of 64 bytes are allocated: 576 bytes. */
	{ "a queue",
	  MAIN("void *q[10] = { 0 }; for (int i = 0; i < 1000; i++) { free(q[i % 10]); q[i % 10] = malloc(64); }"
	       " for (int i = 0; i < 10; i++) free(q[i]);"),
	  "6:1000", "0:1 6:1 7:1 8:2 9:4 10:991", 64, 10, 0 },
	{ "lifetimes at both ends of classes",
	  MAIN("void *p = malloc(1); void *q = malloc(512); free(p); free(q); p = malloc(1); q = malloc(513); free(p);"
	       " free(q);"),
	  "0:2 9:1 10:1", "0:2 9:1 10:1", 513, 2, 0 },
	{ "realloc ends a life",
	  MAIN("void *volatile p = 0; for (int i = 1; i <= 100; i++) p = realloc(p, i * 10); free(p);"),
	  "4:1 5:2 6:3 7:6 8:13 9:26 10:49", "0:100", 1000, 1, 0 },
	{ "realloc that fails does not",
	  MAIN("void *volatile p = malloc(16); void *volatile q = malloc(1000); void *volatile r = realloc(p, SIZE_MAX / 4);"
	       " free(q); free(p); return r != 0;"),
	  "4:1 10:1", "0:1 10:1", 1000, 2, 0 },
	{ "realloc to nothing",
	  MAIN("void *volatile p = malloc(16); void *volatile q = malloc(1000); p = realloc(p, 0); free(q);"),
	  "4:1 10:1", "0:1 10:1", 1000, 2, 0 },
	{ "huge blocks",
	  MAIN("void *volatile p = malloc(5000000); void *volatile q = calloc(1000, 10000); free(p); free(q);"),
	  "23:1 24:1", "0:1 24:1", 10000000, 2, 0 },
	{ "some stay",
	  MAIN("for (int i = 0; i < 100; i++) { void *volatile p = malloc(100); if (i % 2) free(p); } _Exit(0);"),
	  "7:100", "0:50", 100, 51, 50 },
	{ "aligned blocks",
	  MAIN("void *p = memalign(4096, 100), *q = aligned_alloc(64, 640), *r = 0; if (posix_memalign(&r, 256, 3)) return 1;"
	       " free(q); free(p); free(r);"),
	  "2:1 7:1 10:1", "0:1 2:1 10:1", 640, 3, 0 },
};

TEST_F_TIMEOUT(details, of_known_programs, 120)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		const struct mf_recorded *process;
		char sizes[2048], lifetimes[2048];
		struct sums sums;

		TH_LOG("%s", programs[i].what);
		ASSERT_TRUE(compile(self, programs[i].text));
		ASSERT_EQ(0, RECORD("./detail"));
		process = reread(self);
		ASSERT_NE(NULL, process);
		ASSERT_NE(NULL, process->profile.details);
		sums = add_up(&process->profile);
		EXPECT_STREQ(programs[i].sizes, text_of(sums.sizes, sizes));
		EXPECT_STREQ(programs[i].lifetimes, text_of(sums.lifetimes, lifetimes));
		EXPECT_EQ(programs[i].largest, sums.largest);
		EXPECT_EQ(programs[i].live, sums.live);
		EXPECT_EQ(programs[i].at_peak, blocks_in(mf_profile_peak(&process->profile, process->end)));
		EXPECT_EQ(programs[i].live, blocks_in(process->end));
		EXPECT_EQ(sums.allocations, sums.n_sizes);
		EXPECT_EQ(sums.allocations, sums.n_lifetimes + sums.live);
		EXPECT_EQ(0, process->profile.details_lost);
	}
}

/* Each context has its own details. */
TEST_F(details, of_each_site)
{
	const struct mf_recorded *process;
	const struct mf_profile *profile;
	const struct mf_leaf *leaves;

	ASSERT_TRUE(compile(self, "#include <stdlib.h>\nint main(void) { void *p[150]; for (int i = 0; i < 100; i++)"
				  " p[i] = malloc(10);\nfor (int i = 100; i < 150; i++) p[i] = malloc(1000);\n"
				  "for (int i = 0; i < 150; i++) free(p[i]);\nfree(malloc(3)); }"));
	ASSERT_EQ(0, RECORD("./detail"));
	process = reread(self);
	ASSERT_NE(NULL, process);
	profile = &process->profile;
	ASSERT_EQ(3, profile->n_contexts);
	ASSERT_NE(NULL, profile->details);
	ASSERT_EQ(1, profile->details[0].n_sizes);
	EXPECT_EQ(4, profile->details[0].sizes[0].class);
	EXPECT_EQ(100, profile->details[0].sizes[0].count);
	EXPECT_EQ(10, profile->details[0].largest);
	ASSERT_EQ(1, profile->details[1].n_sizes);
	EXPECT_EQ(10, profile->details[1].sizes[0].class);
	EXPECT_EQ(50, profile->details[1].sizes[0].count);
	EXPECT_EQ(1000, profile->details[1].largest);
	/* The first blocks live while 50,000 bytes and up to 990 more are allocated. */
	ASSERT_EQ(1, profile->details[0].n_lifetimes);
	EXPECT_EQ(16, profile->details[0].lifetimes[0].class);
	EXPECT_EQ(100, profile->details[0].lifetimes[0].count);
	ASSERT_EQ(1, profile->details[2].n_lifetimes);
	EXPECT_EQ(0, profile->details[2].lifetimes[0].class);

	ASSERT_TRUE(mf_profile_peak(profile, process->end)->has_blocks);
	ASSERT_EQ(2, mf_profile_peak(profile, process->end)->n_leaves);
	leaves = mf_profile_peak(profile, process->end)->leaves;
	EXPECT_EQ(100, leaves[0].blocks);
	EXPECT_EQ(1000, leaves[0].bytes);
	EXPECT_EQ(50, leaves[1].blocks);
}

static const char threads[] =
	"#include <stdlib.h>\n#include <pthread.h>\nstatic void *blocks[4][1000];\n"
	"static void *run(void *a) { void **mine = a; for (int i = 0; i < 1000; i++) { mine[i] = malloc(16 + i);"
	" if (i % 3) mine[i] = realloc(mine[i], 500 + i); free(malloc(7)); } return 0; }\n"
	"int main(void) { pthread_t t[4]; for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, run, blocks[i]);"
	" for (int i = 0; i < 4; i++) pthread_join(t[i], 0);"
	" for (int i = 0; i < 4; i++) for (int k = 0; k < 900; k++) free(blocks[3 - i][k]); _Exit(0); }";

/* Other threads free the blocks. Each block is in the histogram of sizes and, unless it lives, in that of lifetimes. */
TEST_F_TIMEOUT(details, of_threads, 60)
{
	const struct mf_recorded *process;
	struct sums sums;

	ASSERT_TRUE(compile(self, threads));
	for (int i = 0; i < 5; i++) {
		ASSERT_EQ(0, RECORD("--ignore-fn=allocate_dtv", "--ignore-fn=_dl_allocate_tls", "./detail"));
		process = reread(self);
		ASSERT_NE(NULL, process);
		sums = add_up(&process->profile);
		EXPECT_EQ(4 * (1000 + 666 + 1000), sums.allocations);
		EXPECT_EQ(400, sums.live);
		EXPECT_EQ(sums.allocations, sums.n_sizes);
		EXPECT_EQ(sums.allocations, sums.n_lifetimes + sums.live);
		EXPECT_EQ(sums.live, blocks_in(process->end));
		EXPECT_EQ(1498, sums.largest);
		EXPECT_EQ(0, process->profile.details_lost);
	}
}

/* A forked child continues with its parent's blocks: what it frees has lived since the parent allocated it. */
TEST_F(details, of_forked_processes)
{
	ASSERT_TRUE(compile(self, "#include <stdlib.h>\n#include <sys/wait.h>\n#include <unistd.h>\n"
				  "int main(void) { void *volatile p = malloc(10), *volatile q = malloc(1000);"
				  " if (!fork()) { free(q); free(p); p = malloc(77); _exit(0); } wait(0); }"));
	ASSERT_EQ(0, RECORD("./detail"));
	ASSERT_NE(NULL, reread(self));
	ASSERT_EQ(2, self->recording.n_processes);
	for (size_t i = 0; i < 2; i++) {
		const struct mf_profile *profile = &self->recording.processes[i]->profile;
		bool is_child = self->recording.processes[i]->facts.frees > 0;
		struct sums sums = add_up(profile);
		char text[2048];

		EXPECT_STREQ(is_child ? "4:1 7:1 10:1" : "4:1 10:1", text_of(sums.sizes, text));
		EXPECT_STREQ(is_child ? "0:1 10:1" : "", text_of(sums.lifetimes, text));
		EXPECT_EQ(0, profile->details_lost);
	}
}

/* The trees of detailed snapshots that are not the peak have blocks, too: as many as the stack has bytes. */
TEST_F(details, blocks_of_all_snapshots)
{
	const struct mf_recorded *process;
	uint64_t n_trees = 0;

	ASSERT_TRUE(compile(self, MAIN("static void *p[20000]; for (int i = 0; i < 20000; i++) p[i] = malloc(16);"
				       " for (int i = 0; i < 15000; i++) free(p[i]); for (int i = 0; i < 5000; i++)"
				       " p[i] = malloc(16); _Exit(0);")));
	ASSERT_EQ(0, RECORD("--detailed-freq=2", "./detail"));
	process = reread(self);
	ASSERT_NE(NULL, process);
	for (size_t i = 0; i < process->profile.n_snapshots; i++) {
		const struct mf_profile_snapshot *snapshot = &process->profile.snapshots[i];

		for (size_t k = 0; k < snapshot->n_leaves; k++)
			EXPECT_EQ(snapshot->leaves[k].bytes, snapshot->leaves[k].blocks * 16ull);
		n_trees += snapshot->n_leaves > 0;
	}
	EXPECT_LT(10, n_trees);
	EXPECT_EQ(10000, blocks_in(process->end));
}

/* Without the option, nothing of this is kept, and the massif.out file is the same. */
TEST_F(details, only_if_asked_for)
{
	const struct mf_recorded *process;

	ASSERT_TRUE(compile(self, programs[2].text));
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.1", "--time-unit=B",
			 "--peak-inaccuracy=0", "./detail"));
	ASSERT_EQ(0, rename("massif.1", "massif.2"));
	process = reread(self);
	ASSERT_NE(NULL, process);
	EXPECT_EQ(NULL, process->profile.details);
	EXPECT_FALSE(process->end->has_blocks);
	ASSERT_EQ(0, RECORD("--time-unit=B", "./detail"));
	EXPECT_EQ(0, RUN("sh", "-c", "grep -v ^desc: massif.1 >out.1; grep -v ^desc: massif.2 | cmp - out.1"));
	EXPECT_NE(0, RUN("massif-ctl", "record", "-q", "--record-detail=all", "./detail"));
	EXPECT_NE(NULL, strstr(self->result.err, "--record-detail")) {
		TH_LOG("%s", self->result.err);
	}
}

static const char *const in_json[] = {
	"[.details[].sizes[][1]] | add == 1000",
	"[.details[].lifetimes[][1]] | add == 1000",
	"[.details[].lifetimes[] | select(.[0] == 1024)[1]] | add == 991",
	"[.details[].largest] | max == 64",
	".details_lost == 0",
	"[.snapshots[] | select(.tree == \"peak\") | .blocks[][1]] == [10]",
	"[.snapshots[] | select(.tree == \"empty\" and .blocks != null)] == []",
};

TEST_F(details, in_json)
{
	ASSERT_TRUE(compile(self, programs[2].text));
	ASSERT_EQ(0, RECORD("./detail"));
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=json", "-o", "out.json", "massif.rec"));
	for (size_t i = 0; i < sizeof(in_json) / sizeof(in_json[0]); i++) {
		EXPECT_EQ(0, RUN("jq", "-e", in_json[i], "out.json")) {
			TH_LOG("%s", in_json[i]);
		}
	}
}

TEST_HARNESS_MAIN
