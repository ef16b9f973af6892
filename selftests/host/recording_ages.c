// SPDX-License-Identifier: GPL-2.0
// How many allocations of their threads the blocks of known programs lived through; which blocks are temporary (--temporary).

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "base/bytes.h"
#include "recording/reader.h"
#include "recording/section.h"
#include "selftests/lib/ctl_run.h"

FIXTURE(ages) {
	struct ctl_result result;
	struct mf_recording recording;
};

FIXTURE_SETUP(ages)
{
	ctl_remove_files("massif.");
	setenv("LC_ALL", "C.UTF-8", 1);
}

FIXTURE_TEARDOWN(ages)
{
	mf_recording_release(&self->recording);
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
	ctl_remove_files("aged");
	ctl_remove_files("out.");
}

#define RUN(...) (ctl_result_free(&self->result), CTL_RUN(&self->result, __VA_ARGS__), ctl_exit_code(&self->result))
#define RECORD_TO(file, ...) RUN("massif-ctl", "record", "-q", "--record=" file, "--massif-out-file=massif.1", \
				 "--ignore-fn=allocate_dtv", "--ignore-fn=_dl_allocate_tls", "--ignore-fn=ignored", __VA_ARGS__)
#define RECORD(...) RECORD_TO("massif.rec", "--record-detail=full", __VA_ARGS__)

static bool compile(FIXTURE_DATA(ages) *self, const char *text)
{
	ctl_write_file("aged.c", text, 0644);
	return !RUN("cc", "-O0", "-g", "-pthread", "-o", "aged", "aged.c");
}

static bool reread(FIXTURE_DATA(ages) *self, const char *path)
{
	mf_recording_release(&self->recording);
	return !mf_recording_read(path, &self->recording, NULL) && self->recording.n_processes;
}

static uint64_t in_class(const struct mf_profile *profile, uint32_t class)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < profile->n_contexts; i++)
		sum += mf_details_count(&profile->details[i], MF_DETAIL_AGES, class);
	return sum;
}

/* Writes the classes of the ages that are not empty: "0:1000 2:3". */
static const char *text_of(const struct mf_profile *profile, char *text)
{
	char *at = text;

	*at = '\0';
	for (uint32_t i = 0; i < MF_DETAIL_CLASSES; i++)
		if (in_class(profile, i))
			at += sprintf(at, "%s%" PRIu32 ":%" PRIu64, at == text ? "" : " ", i, in_class(profile, i));
	return text;
}

/* Class 0 has the temporary blocks of each context. */
static bool is_consistent(const struct mf_profile *profile)
{
	bool right = profile->details && profile->has_ages && profile->counts;

	for (size_t i = 0; right && i < profile->n_contexts; i++)
		right = profile->counts[i].temporaries == mf_details_count(&profile->details[i], MF_DETAIL_AGES, 0);
	return right;
}

#define PROGRAM(functions, text) "#include <pthread.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n" \
				 "#include <sys/wait.h>\n#include <unistd.h>\n" functions "\nint main(void) { " text " }"
#define MAIN(text) PROGRAM("", text)

/* A block lives through each of several numbers of other blocks, which stay. */
#define SERIES \
	"static void *volatile others;\n" \
	"static void series(void) { static const int n[] = { 0, 1, 2, 3, 4, 7, 8, 1000 };" \
	" for (int i = 0; i < 8; i++) { void *p = malloc(10);" \
	" for (int k = 0; k < n[i]; k++) others = malloc(20); free(p); } }\n"
#define THREAD(name, text) "static void *" #name "(void *a) { " text " return 0; }\n"
#define START_AND_END(name, argument) "{ pthread_t t; pthread_create(&t, 0, " #name ", " argument "); pthread_join(t, 0); }"

static const struct {
	const char *what, *text, *ages;
} programs[] = {
	{ "pairs, between which nothing is allocated", MAIN("for (int i = 0; i < 1000; i++) free(malloc(10));"), "0:1000" },
	{ "numbers at both ends of classes", PROGRAM(SERIES, "series(); _exit(0);"), "0:1 1:1 2:2 3:2 4:1 10:1" },
	{ "a queue of ten",
	  MAIN("void *q[10] = { 0 }; for (int i = 0; i < 1000; i++) { free(q[i % 10]); q[i % 10] = malloc(64); } _exit(0);"),
	  "4:990" },
	{ "two threads at the same time, which do not count each other's blocks",
	  PROGRAM(SERIES "static pthread_barrier_t both;\n"
			 THREAD(run, "pthread_barrier_wait(&both); for (int i = 0; i < 100; i++) series();"),
		  "pthread_t t[2]; pthread_barrier_init(&both, 0, 2); for (int i = 0; i < 2; i++)"
		  " pthread_create(&t[i], 0, run, 0); for (int i = 0; i < 2; i++) pthread_join(t[i], 0); _exit(0);"),
	  "0:200 1:200 2:400 3:400 4:200 10:200" },
	{ "blocks that another thread frees",
	  PROGRAM("static void *p[100];\n" THREAD(run, "for (int i = 0; i < 50; i++) free(p[i]);"),
		  "for (int i = 0; i < 100; i++) p[i] = malloc(10);" START_AND_END(run, "0") "free(malloc(10)); _exit(0);"),
	  "0:1" },
	{ "the blocks of a thread that has ended",
	  PROGRAM("static void *p[2];\n" THREAD(make, "p[0] = malloc(10); p[1] = malloc(10);")
		  THREAD(end, "free(p[0]); free(p[1]); free(malloc(10));"),
		  START_AND_END(make, "0") START_AND_END(end, "0") START_AND_END(make, "0") "free(p[1]); _exit(0);"),
	  "0:1" },
	{ "realloc ends a life", MAIN("void *volatile p = 0; for (int i = 1; i <= 100; i++) p = realloc(p, i * 10); free(p);"),
	  "0:100" },
	{ "realloc after another allocation",
	  MAIN("void *volatile p = malloc(10), *volatile q = malloc(10); p = realloc(p, 1000); free(q); free(p);"),
	  "0:1 1:2" },
	{ "realloc of another thread's block",
	  PROGRAM(THREAD(run, "void *volatile *p = a; *p = realloc(*p, 1000); free(malloc(1)); free(*p);"),
		  "void *p = malloc(10);" START_AND_END(run, "&p") "_exit(0);"),
	  "0:1 1:1" },
	{ "realloc that fails does not end a life",
	  MAIN("void *volatile p = malloc(16), *volatile q = malloc(1000), *volatile r = realloc(p, SIZE_MAX / 4);"
	       " free(q); free(p); return r != 0;"),
	  "0:1 1:1" },
	{ "realloc to nothing",
	  MAIN("void *volatile p = malloc(16), *volatile q = malloc(1000); p = realloc(p, 0); q = realloc(q, 0); _exit(0);"),
	  "0:1 1:1" },
	{ "blocks that are not counted are allocations, too",
	  PROGRAM("static void ignored(void) { for (int i = 0; i < 3; i++) free(malloc(10)); }\n",
		  "void *volatile p = malloc(10); ignored(); free(p); free(malloc(10)); _exit(0);"),
	  "0:1 2:1" },
	{ "blocks that client requests report",
	  PROGRAM("void massif_malloc_like(const void *, size_t) __attribute__((weak));\n"
		  "void massif_free_like(const void *) __attribute__((weak));\nstatic char pool[4096];\n",
		  "for (int i = 0; i < 100; i++) { massif_malloc_like(pool, 13); massif_malloc_like(pool + 64, 64);"
		  " massif_malloc_like(pool + 128, 13); massif_free_like(pool + 128); massif_free_like(pool);"
		  " massif_free_like(pool + 64); } _exit(0);"),
	  "0:100 1:100 2:100" },
	{ "aligned and cleared blocks",
	  MAIN("void *r = 0, *p = aligned_alloc(64, 640), *q = calloc(10, 10); if (posix_memalign(&r, 4096, 10)) return 1;"
	       " free(p); free(q); free(r); _exit(0);"),
	  "0:1 1:1 2:1" },
};

TEST_F_TIMEOUT(ages, of_known_programs, 120)
{
	/* The model handles more of the events if the unit of time is bytes, and all of them if the peak must be exact. */
	static const char *const units[] = { "--time-unit=ms", "--time-unit=B", "--peak-inaccuracy=-1" };

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		ASSERT_TRUE(compile(self, programs[i].text));
		for (size_t k = 0; k < sizeof(units) / sizeof(units[0]); k++) {
			const struct mf_profile *profile;
			char text[2048];

			TH_LOG("%s, %s", programs[i].what, units[k]);
			ASSERT_EQ(0, RECORD(units[k], "./aged")) {
				TH_LOG("%s", self->result.err);
			}
			ASSERT_TRUE(reread(self, "massif.rec"));
			profile = &self->recording.processes[0]->profile;
			ASSERT_NE(NULL, profile->details);
			EXPECT_STREQ(programs[i].ages, text_of(profile, text));
			EXPECT_TRUE(is_consistent(profile));
			EXPECT_EQ(0, profile->details_lost);
		}
	}
}

/* The thread that continues in a forked process has allocated what it had in its parent; no other thread has. */
TEST_F(ages, of_forked_processes)
{
	ASSERT_TRUE(compile(self, PROGRAM(
		"static void *volatile p, *volatile q, *volatile r, *volatile s;\n"
		THREAD(later, "free(s);")
		THREAD(run, "p = malloc(10); q = malloc(1000); if (!fork()) { free(q); free(p); free(r);"
			    " r = malloc(77); free(r);"
			    START_AND_END(later, "0") "_exit(0); } wait(0);"),
		"s = malloc(20); r = malloc(20);" START_AND_END(run, "0") "_exit(0);")));
	ASSERT_EQ(0, RECORD("./aged"));
	ASSERT_TRUE(reread(self, "massif.rec"));
	ASSERT_EQ(2, self->recording.n_processes);
	for (size_t i = 0; i < 2; i++) {
		const struct mf_profile *profile = &self->recording.processes[i]->profile;
		bool is_child = self->recording.processes[i]->facts.frees > 0;
		char text[2048];

		EXPECT_STREQ(is_child ? "0:2 1:1" : "", text_of(profile, text));
		EXPECT_TRUE(is_consistent(profile));
	}
}

/* Threads, more than massif has tallies, exchange blocks; some of them end, and others take their places. */
static const char exchange[] =
	"#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\nstatic _Atomic(void *) slots[97];\n"
	"static unsigned next(unsigned *s) { return *s = *s * 1664525 + 1013904223, *s >> 8; }\n"
	"static void *run(void *a) { unsigned s = (unsigned)(size_t)a; for (int i = 0; i < 3000; i++) {"
	" _Atomic(void *) *slot = &slots[next(&s) % 97]; void *p = atomic_exchange(slot, 0);\n"
	" switch (next(&s) % 6) {\ncase 0: free(p); p = malloc(next(&s) % 300); break;\n"
	"case 1: p = realloc(p, 1 + next(&s) % 300);"
	" break;\ncase 2: free(malloc(5)); break;\ncase 3: free(p); p = calloc(1, next(&s) % 3000); break;\n"
	"case 4: free(p); p = 0; break;\ncase 5: { void *q = malloc(9), *r = malloc(7); free(q); free(r); } }\n"
	" free(atomic_exchange(slot, p)); } return 0; }\n"
	"int main(void) { pthread_t t[80]; for (int k = 0; k < 3; k++) { for (size_t i = 0; i < 80; i++)"
	" pthread_create(&t[i], 0, run, (void *)(100 * k + i)); for (int i = 0; i < 80; i++) pthread_join(t[i], 0); } }";

TEST_F_TIMEOUT(ages, class_0_has_the_temporary_blocks, 300)
{
	static const char *const units[] = { "--time-unit=ms", "--time-unit=B" };

	ASSERT_TRUE(compile(self, exchange));
	for (size_t i = 0; i < 2; i++) {
		const struct mf_profile *profile;
		uint64_t freed = 0, aged = 0;

		ASSERT_EQ(0, RECORD(units[i], "./aged"));
		ASSERT_TRUE(reread(self, "massif.rec"));
		profile = &self->recording.processes[0]->profile;
		EXPECT_TRUE(is_consistent(profile));
		EXPECT_EQ(0, profile->details_lost);
		for (size_t k = 0; k < profile->n_contexts; k++)
			for (uint32_t class = 0; class < MF_DETAIL_CLASSES; class++)
				freed += mf_details_count(&profile->details[k], MF_DETAIL_LIFETIMES, class);
		for (uint32_t class = 0; class < MF_DETAIL_CLASSES; class++)
			aged += in_class(profile, class);
		/* Some blocks were freed by another thread, and most were not. */
		EXPECT_LT(freed / 5, aged);
		EXPECT_GT(freed / 100 * 99, aged);
	}
}

/* The same of blocks that client requests report, and of those that signal handlers allocate that have interrupted the shim. */
TEST_F_TIMEOUT(ages, of_reported_and_deferred_blocks, 300)
{
	static const char *const targets[][2] = {
		{ "heap_requests" }, { "heap_requests_mixed" }, { "heap_deferred", "3" }, { "heap_calls" },
	};
	static const char *const units[] = { "--time-unit=ms", "--time-unit=B", "--peak-inaccuracy=-1" };

	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		for (size_t k = 0; k < sizeof(units) / sizeof(units[0]); k++) {
			RECORD(units[k], ctl_target(targets[i][0]), targets[i][1]);
			ASSERT_TRUE(reread(self, "massif.rec")) {
				TH_LOG("%s: %s", targets[i][0], self->result.err);
			}
			for (size_t n = 0; n < self->recording.n_processes; n++)
				EXPECT_TRUE(is_consistent(&self->recording.processes[n]->profile)) {
					TH_LOG("%s, %s", targets[i][0], units[k]);
				}
		}
	}
}

/* 30 blocks are freed at once, 20 after one other block, 10 after two, 5 after three, and 7 by another thread. */
static const char stages[] =
	"#include <pthread.h>\n#include <stdlib.h>\n#include <unistd.h>\nstatic void *volatile kept;\n"
	"static void live(int n, int others) { for (int i = 0; i < n; i++) { void *p = malloc(100);"
	" for (int k = 0; k < others; k++) kept = malloc(1); free(p); } }\n"
	"static void at_once(void) { live(30, 0); }\nstatic void soon(void) { live(20, 1); live(10, 2); }\n"
	"static void later(void) { live(5, 3); }\nstatic void *given[7];\n"
	"static void *take(void *a) { for (int i = 0; i < 7; i++) free(given[i]); return 0; }\n"
	"static void give(void) { pthread_t t; for (int i = 0; i < 7; i++) given[i] = malloc(50);"
	" pthread_create(&t, 0, take, 0); pthread_join(t, 0); }\n"
	"int main(void) { at_once(); soon(); later(); give(); _exit(0); }";

static const struct {
	const char *what;
	const char *argv[6];
	int status;
	const char *lines[6]; /* in this order */
} shown[] = {
	{ "lifetimes in allocations", { "show", "--lifetimes=allocations", "massif.rec" }, 0,
	  { "Other blocks that a block's thread allocated before the same thread freed the block:\n"
	    " allocations       blocks    share\n",
	    "<=         0           30   46.15%  █████████\n"
	    "<=         1           20   30.77%  ██████\n"
	    "<=         3           15   23.08%  █████\n",
	    "      in all           65  100.00%\n",
	    "   by others            7  freed by another thread\n live at end           55\n" } },
	{ "those by stack", { "show", "--lifetimes=allocations", "--by=stack", "massif.rec" }, 0,
	  { "<=         0           30", "at_once", "<=         1           20", "soon" } },
	{ "those of some stacks", { "show", "--lifetimes=allocations", "--through=later", "massif.rec" }, 0,
	  { "<=         3            5  100.00%", "   by others            0" } },
	{ "lifetimes in bytes", { "show", "--lifetimes=bytes", "massif.rec" }, 0,
	  { "Bytes that the program allocated between a block's allocation and its free:\n" } },
	{ "the usual temporary blocks", { "show", "--sort=temporary", "massif.rec" }, 0,
	  { "in 127 blocks, 23.62% of them temporary (30)\n", "        30 " } },
	{ "those of 0", { "show", "--sort=temporary", "--temporary=0", "massif.rec" }, 0,
	  { "in 127 blocks, 23.62% of them temporary (30)\n" } },
	{ "those of 1", { "show", "--temporary=1", "massif.rec" }, 0,
	  { "of them temporary (50): freed after at most 1 other allocation of their thread\n" } },
	{ "those of 3", { "show", "--temporary=3", "--sort=temporary", "--through=soon", "massif.rec" }, 0,
	  { "of them temporary (30): freed after at most 3 other allocations of their thread\n", "        30  " } },
	{ "a tree of those", { "show", "--temporary=1", "--sort=temporary", "--tree", "massif.rec" }, 0,
	  { "        50 100.00%" } },
	{ "all of them", { "show", "--temporary=70368744177663", "massif.rec" }, 0, { "of them temporary (65): " } },
	{ "by threads", { "show", "--by=thread", "massif.rec" }, 0, { "temporary" } },
	{ "exported as stacks", { "export", "--to=collapsed", "--value=temporary", "--temporary=3", "massif.rec" }, 0,
	  { "main;at_once;live 30\n", "main;soon;live 20\n", "main;soon;live 10\n", "main;later;live 5\n" } },
	{ "compared", { "diff", "--value=temporary", "--temporary=1", "massif.basic", "massif.rec" }, 2,
	  { "make the recording with --record-detail=full" } },
	{ "compared with itself", { "diff", "--value=temporary", "--temporary=3", "massif.rec", "massif.rec" }, 0,
	  { "temporary blocks, freed after at most 3 other allocations of their thread\n", "        65         65 " } },
	{ "a budget that is kept", { "check", "--max-temporary=50", "--temporary=1", "massif.rec" }, 0, { "          50" } },
	{ "a budget that is not", { "check", "--max-temporary=50", "--temporary=3", "massif.rec" }, 1, { "          65" } },
	{ "a page", { "report", "--temporary=3", "-o", "-", "massif.rec" }, 0, { "\"temporary_others\":3" } },

	{ "no power of two", { "show", "--temporary=5", "massif.rec" }, 1,
	  { "--temporary=5", "the next ones that they can answer are 3 and 7" } },
	{ "no power of two", { "export", "--temporary=2", "massif.rec" }, 1, { "are 1 and 3" } },
	{ "the largest number", { "show", "--temporary=70368744177664", "massif.rec" }, 1,
	  { "the largest number that recordings can answer is 70368744177663" } },
	{ "no number", { "show", "--temporary=few", "massif.rec" }, 1, { "--temporary=few: it needs a number" } },
	{ "less than nothing", { "diff", "--temporary=-1", "massif.rec", "massif.rec" }, 2, { "it needs a number" } },
	{ "no such unit", { "show", "--lifetimes=seconds", "massif.rec" }, 1, { "use bytes or allocations" } },
	{ "a format without", { "export", "--to=pprof", "--temporary=3", "massif.rec" }, 1,
	  { "pprof has no temporary blocks; json, collapsed and speedscope have them" } },
	{ "a number without", { "export", "--to=collapsed", "--temporary=3", "massif.rec" }, 1,
	  { "only with --value=temporary" } },
	{ "a comparison without", { "diff", "--temporary=3", "massif.rec", "massif.rec" }, 2,
	  { "only with --value=temporary" } },
	{ "threads without stacks", { "show", "--by=thread", "--temporary=3", "massif.rec" }, 1,
	  { "make the recording with --separate-threads=yes" } },
	{ "without details", { "show", "--temporary=1", "massif.basic" }, 1,
	  { "make the recording with --record-detail=full" } },
	{ "without details", { "show", "--lifetimes=allocations", "massif.basic" }, 1,
	  { "make the recording with --record-detail=full" } },
	{ "without details", { "export", "--to=json", "--temporary=3", "massif.basic" }, 1,
	  { "make the recording with --record-detail=full" } },
	{ "without details", { "check", "--max-temporary=1", "--temporary=3", "massif.basic" }, 2,
	  { "make the recording with --record-detail=full" } },
	{ "without details", { "report", "--temporary=3", "massif.basic" }, 1,
	  { "make the recording with --record-detail=full" } },
	{ "without details, the usual ones", { "show", "--temporary=0", "massif.basic" }, 0, { "temporary (30)\n" } },
	{ "of massif.out", { "show", "--temporary=1", "massif.1" }, 1, { "a massif.out file" } },
	{ "of massif.out", { "show", "--temporary=0", "massif.1" }, 1, { "a massif.out file" } },
	{ "of massif.out", { "show", "--lifetimes=allocations", "massif.1" }, 1,
	  { "make the recording with --record-detail=full" } },
	{ "of an earlier version", { "show", "--temporary=1", "massif.old" }, 1,
	  { "an earlier version of massif has made it: make it again with --record-detail=full" } },
	{ "of an earlier version", { "show", "--lifetimes=allocations", "massif.old" }, 1,
	  { "an earlier version of massif has made it: make it again with --record-detail=full" } },
	{ "of an earlier version", { "show", "--lifetimes", "massif.old" }, 0, { "live at end           55\n" } },
	{ "of an earlier version", { "show", "--temporary=0", "massif.old" }, 0, { "temporary (30)\n" } },
};

/* Writes the recording @from to @to as an earlier version would have, which had no ages. */
static bool write_old(const char *from, const char *to)
{
	struct mf_bytes file = { 0 }, old = { 0 };
	struct mf_recording recording;
	struct mf_section_reader reader;
	struct mf_error err;
	uint32_t type;
	size_t size;
	FILE *out;

	if (mf_recording_read_whole(from, &file, &recording, &err))
		return false;
	reader = mf_section_reader(file.data, file.size);
	if (mf_section_check_magic(&reader, &err))
		return false;
	mf_section_add_magic(&old);
	for (uint8_t *data; mf_section_read(&reader, &type, &data, &size, &err) > 0; free(data)) {
		struct mf_bytes contents = { 0 };

		mf_bytes_add(&contents, data, size);
		if (type != MF_SECTION_AGES)
			mf_section_add(&old, type, &contents);
		mf_bytes_deinit(&contents);
	}
	out = fopen(to, "we");
	if (out && old.size)
		fwrite(old.data, old.size, 1, out);
	mf_recording_release(&recording);
	mf_bytes_deinit(&file);
	mf_bytes_deinit(&old);
	return out && !fclose(out);
}

TEST_F_TIMEOUT(ages, shown, 120)
{
	ASSERT_TRUE(compile(self, stages));
	ASSERT_EQ(0, RECORD_TO("massif.basic", "./aged"));
	ASSERT_EQ(0, RECORD("./aged"));
	ASSERT_TRUE(write_old("massif.rec", "massif.old"));
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		const char *const *argv = shown[i].argv, *at;

		EXPECT_EQ(shown[i].status, RUN("massif-ctl", argv[0], argv[1], argv[2], argv[3], argv[4], argv[5])) {
			TH_LOG("%s: %s%s", shown[i].what, self->result.out, self->result.err);
		}
		at = shown[i].status && self->result.err[0] ? self->result.err : self->result.out;
		for (size_t k = 0; k < 6 && shown[i].lines[k] && at; k++) {
			at = strstr(at, shown[i].lines[k]);
			EXPECT_NE(NULL, at) {
				TH_LOG("%s: line %zu in %s%s", shown[i].what, k, self->result.out, self->result.err);
			}
		}
	}
}

/* With threads apart, --temporary also answers which thread has them. */
TEST_F(ages, of_separate_threads)
{
	ASSERT_TRUE(compile(self, stages));
	ASSERT_EQ(0, RECORD("--separate-threads=yes", "./aged"));
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--by=thread-name", "--sort=temporary", "--temporary=3", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, "        65 "));
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--thread=aged", "--lifetimes=allocations", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, "      in all           65  100.00%\n"));
}

static const char *const in_json[] = {
	"[.details[].lifetimes_in_allocations[] | select(.[0] == 0)[1]] | add == 30",
	"[.details[].lifetimes_in_allocations[] | select(.[0] == 1)[1]] | add == 20",
	"[.details[].lifetimes_in_allocations[] | select(.[0] == 3)[1]] | add == 15",
	"[.counts[][3]] | add == 65",
	".temporary_others == 3",
	".thread_totals == null",
};

TEST_F(ages, in_json)
{
	ASSERT_TRUE(compile(self, stages));
	ASSERT_EQ(0, RECORD("./aged"));
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=json", "--temporary=3", "-o", "out.json", "massif.rec"));
	for (size_t i = 0; i < sizeof(in_json) / sizeof(in_json[0]); i++) {
		EXPECT_EQ(0, RUN("jq", "-e", in_json[i], "out.json")) {
			TH_LOG("%s", in_json[i]);
		}
	}
}

TEST_HARNESS_MAIN
