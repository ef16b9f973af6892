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

/* Reads the histogram of heaptrack_print -H, each line of which has a size and how many blocks have it, into classes. */
static bool read_histogram(const char *path, uint64_t *classes)
{
	FILE *in = fopen(path, "re");
	unsigned long long size, blocks;

	memset(classes, 0, MF_DETAIL_CLASSES * sizeof(*classes));
	while (in && fscanf(in, "%llu %llu", &size, &blocks) == 2) {
		uint32_t class = 0;

		while (1ull << class < size)
			class++;
		/* heaptrack's library allocates one block itself, for exceptions of C++. */
		classes[class] += size == 72704 ? blocks - 1 : blocks;
	}
	return in && !fclose(in);
}

TEST_F_TIMEOUT(details, sizes_equal_those_of_heaptrack, 120)
{
	static const char *const commands[][4] = {
		{ "./detail" },
		{ "/usr/bin/jq", "-n", "[range(1000)] | length" },
		{ "/bin/sed", "-n", "s/a*b/x/p", "/etc/services" },
		{ "/usr/bin/sort", "/etc/passwd" },
		{ "/usr/bin/readelf", "-S", "/bin/ls" },
		{ "/usr/bin/sqlite3", ":memory:", "create table t(a); insert into t values (1); select * from t;" },
	};

	if (RUN("heaptrack", "--version"))
		SKIP(return, "heaptrack is not installed");
	ASSERT_TRUE(compile(self, programs[2].text));
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		uint64_t theirs[MF_DETAIL_CLASSES];
		char ours_text[2048], theirs_text[2048];
		const char *const *argv = commands[i];
		const struct mf_recorded *process;
		struct sums sums;

		ctl_remove_files("out.");
		RUN("heaptrack", "-o", "out.heaptrack", argv[0], argv[1], argv[2], argv[3]);
		ASSERT_EQ(0, RUN("sh", "-c", "heaptrack_print -f out.heaptrack.* -H out.sizes"));
		ASSERT_TRUE(read_histogram("out.sizes", theirs));
		ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--record-detail=full",
				 "--massif-out-file=massif.1", argv[0], argv[1], argv[2], argv[3]));
		process = reread(self);
		ASSERT_NE(NULL, process);
		sums = add_up(&process->profile);
		EXPECT_STREQ(text_of(theirs, theirs_text), text_of(sums.sizes, ours_text)) {
			TH_LOG("%s", argv[0]);
		}
	}
}

/* Two functions: one allocates blocks of one size, which all live at the peak; one of two sizes, of which one lives. */
static const char two_sites[] =
	"#include <stdlib.h>\nvoid *small[100];\n"
	"void keep(void) { for (int i = 0; i < 100; i++) small[i] = malloc(50); }\n"
	"void use(void) { for (int i = 0; i < 30; i++) {"
	" void *p = malloc(64); void *q = malloc(3000); free(p); free(q); } }\n"
	"int main(void) { keep(); use(); for (int i = 0; i < 90; i++) free(small[i]); _Exit(0); }";

static const struct {
	const char *what;
	const char *argv[5];
	const char *lines[6]; /* in this order */
} shown[] = {
	{ "sizes by function", { "show", "--sizes", "--by=function", "massif.rec" },
	  { "        size       blocks    share    function\n",
	    "<=      64 B          130   81.25%  ████████████████\n",
	    "                      100   76.92%    keep\n                       30   23.08%    use\n",
	    "<=  4.000 KB           30   18.75%  ████\n                       30  100.00%    use\n",
	    "      in all          160  100.00%\n" } },
	{ "sizes of some stacks", { "show", "--sizes", "--through=use", "massif.rec" },
	  { "<=      64 B           30   50.00%  ██████████\n         ...\n"
	    "<=  4.000 KB           30   50.00%",
	    "      in all           60  100.00%\n" } },
	{ "sizes of sites that match", { "show", "--sizes", "--by=function", "--filter=use", "massif.rec" },
	  { "<=      64 B          130   81.25%  ████████████████\n"
	    "                       30   23.08%    use\n" } },
	{ "one site of each class", { "show", "--sizes", "--by=function", "--top=1", "massif.rec" },
	  { "                      100   76.92%    keep\n                       30   23.08%    1 more\n" } },
	{ "lifetimes", { "show", "--lifetimes", "massif.rec" },
	  { "Bytes that the program allocated between a block's allocation and its free:\n"
	    "    lifetime       blocks    share\n",
	    "<=       1 B           30   20.00%  ████\n", "<=  4.000 KB           30   20.00%  ████\n",
	    "<=  128.0 KB           90   60.00%  ████████████\n",
	    "      in all          150  100.00%\n",
	    " live at end           10\n" } },
	{ "lifetimes by function", { "show", "--lifetimes", "--by=function", "massif.rec" },
	  { "<=  128.0 KB           90   60.00%  ████████████\n"
	    "                       90  100.00%    keep\n" } },
	{ "blocks at the peak", { "show", "--by=function", "massif.rec" },
	  { "      peak     blocks        end   share  function\n",
	    "  4.883 KB        100      500 B  62.00%  keep\n  2.992 KB          2        0 B  38.00%  use\n",
	    "  7.875 KB        102      500 B 100.00%  in all\n" } },
	{ "sorted by blocks", { "show", "--by=function", "--sort=blocks", "massif.rec" },
	  { "  4.883 KB        100      500 B  98.04%  keep\n  2.992 KB          2        0 B   1.96%  use\n" } },
	{ "blocks at the end", { "show", "--by=function", "--sort=blocks", "--at=end", "massif.rec" },
	  { "       end     blocks   share  function\n", "     500 B         10 100.00%  keep\n" } },
	{ "the largest block", { "show", "--by=function", "--sort=largest", "massif.rec" },
	  { "     calls  allocated  temporary    largest   share  function\n",
	    "        60   89.77 KB         30   2.930 KB          use\n"
	    "       100   4.883 KB          0       50 B          keep\n",
	    "       160   94.65 KB         30   2.930 KB          in all\n" } },
	{ "the largest block of the rest", { "show", "--by=function", "--sort=largest", "--top=1", "massif.rec" },
	  { "       100   4.883 KB          0       50 B          1 more\n" } },
	{ "a tree of blocks", { "show", "--tree", "--sort=blocks", "massif.rec" },
	  { "       100  98.04%  keep (", "         2   1.96%  use (" } },
};

TEST_F_TIMEOUT(details, shown, 60)
{
	ASSERT_TRUE(compile(self, two_sites));
	ASSERT_EQ(0, RECORD("./detail"));
	setenv("LC_ALL", "C.UTF-8", 1);
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		const char *const *argv = shown[i].argv, *at;

		ASSERT_EQ(0, RUN("massif-ctl", argv[0], argv[1], argv[2], argv[3], argv[4])) {
			TH_LOG("%s: %s", shown[i].what, self->result.err);
		}
		at = self->result.out;
		for (size_t k = 0; k < 6 && shown[i].lines[k] && at; k++) {
			at = strstr(at, shown[i].lines[k]);
			EXPECT_NE(NULL, at) {
				TH_LOG("%s: line %zu in %s", shown[i].what, k, self->result.out);
			}
		}
	}
}

/* Without details, the questions that need them are answered with what to do. */
TEST_F(details, missing)
{
	static const char *const options[][2] = {
		{ "--lifetimes" }, { "--sizes", "--by=site" }, { "--sizes", "--through=main" }, { "--sort=blocks" },
		{ "--sort=largest" }, { "--tree", "--sort=blocks" },
	};

	ASSERT_TRUE(compile(self, two_sites));
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.1", "./detail"));
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		EXPECT_EQ(1, RUN("massif-ctl", "show", options[i][0], options[i][1] ?: "--top=3", "massif.rec"));
		EXPECT_NE(NULL, strstr(self->result.err, "make the recording with --record-detail=full")) {
			TH_LOG("%s: %s", options[i][0], self->result.err);
		}
	}
	EXPECT_EQ(0, RUN("massif-ctl", "show", "--sizes", "massif.rec"));
	ASSERT_EQ(0, RECORD("./detail"));
	EXPECT_EQ(1, RUN("massif-ctl", "show", "--tree", "--sort=largest", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.err, "have no sum"));
}

/* Of the samples that "go tool pprof -raw" prints, adds up the numbers of the column @column. */
static uint64_t column_of(const char *raw, unsigned int column)
{
	const char *at = strstr(raw, "\nSamples:\n");
	uint64_t sum = 0;

	at = at ? strchr(at + 10, '\n') : NULL;
	for (; at && strncmp(at, "\nLocations", 10) != 0; at = strchr(at + 1, '\n')) {
		char *next = (char *)at + 1;
		unsigned long long number = 0;

		for (unsigned int i = 0; i <= column; i++)
			number = strtoull(next, &next, 10);
		sum += number;
	}
	return sum;
}

/* Without --at, live blocks are those of the end, whatever else is shown. */
TEST_F_TIMEOUT(details, blocks_of_a_moment_in_flame_graphs, 60)
{
	static const struct {
		const char *at, *sum;
	} moments[] = { { "--at=peak", "102\n" }, { "--at=end", "10\n" }, { "-q", "10\n" } };

	ASSERT_TRUE(compile(self, two_sites));
	ASSERT_EQ(0, RECORD("./detail"));
	for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); i++) {
		ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=collapsed", "--value=live-blocks", moments[i].at, "-o",
				 "out.folded", "massif.rec"));
		ASSERT_EQ(0, RUN("awk", "{ n += $NF } END { print n }", "out.folded"));
		EXPECT_STREQ(moments[i].sum, self->result.out) {
			TH_LOG("%s", moments[i].at);
		}
	}
}

TEST_F_TIMEOUT(details, blocks_of_the_peak_in_pprof, 60)
{
	ASSERT_TRUE(compile(self, two_sites));
	ASSERT_EQ(0, RECORD("./detail"));
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=pprof", "-o", "out.pb.gz", "massif.rec"));
	ASSERT_EQ(0, RUN("go", "tool", "pprof", "-raw", "out.pb.gz"));
	EXPECT_NE(NULL, strstr(self->result.out, "inuse_objects/count"));
	EXPECT_EQ(160, column_of(self->result.out, 0));
	EXPECT_EQ(102, column_of(self->result.out, 2));
	EXPECT_EQ(8064, column_of(self->result.out, 3)) {
		TH_LOG("%s", self->result.out);
	}
}

TEST_HARNESS_MAIN
