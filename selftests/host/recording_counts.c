// SPDX-License-Identifier: GPL-2.0
// The counts in a recording: those of known programs, and those of Valgrind's memcheck for real ones.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "recording/reader.h"
#include "selftests/lib/ctl_run.h"

#define VALGRIND "/usr/bin/valgrind"

/* The sums of a recording's counts. */
struct sums {
	uint64_t allocations, allocated, temporaries, live;
};

FIXTURE(counts) {
	struct ctl_result result;
};

FIXTURE_SETUP(counts)
{
	ctl_remove_files("massif.");
	personality(personality(0xffffffff) | ADDR_NO_RANDOMIZE);
}

FIXTURE_TEARDOWN(counts)
{
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
	ctl_remove_files("count");
}

#define RUN(...) (ctl_result_free(&self->result), CTL_RUN(&self->result, __VA_ARGS__), ctl_exit_code(&self->result))

static bool add_up(struct sums *sums)
{
	struct mf_recording recording;
	const struct mf_profile *profile;
	bool counted;

	*sums = (struct sums){ 0 };
	if (mf_recording_read("massif.rec", &recording, NULL))
		return false;
	profile = &recording.processes[0]->profile;
	counted = profile->counts && recording.n_processes == 1;
	for (size_t i = 0; counted && i < profile->n_contexts; i++) {
		sums->allocations += profile->counts[i].allocations;
		sums->allocated += profile->counts[i].allocated;
		sums->temporaries += profile->counts[i].temporaries;
		sums->live += profile->counts[i].live;
	}
	mf_recording_release(&recording);
	return counted;
}

/* Compiles @text as a program with threads. */
static bool compile(FIXTURE_DATA(counts) *self, const char *text)
{
	ctl_write_file("count.c", text, 0644);
	return !RUN("cc", "-O0", "-g", "-pthread", "-o", "count", "count.c");
}

static const struct {
	const char *what, *text;
	struct sums sums;
} programs[] = {
	{ "pairs, each temporary",
	  "#include <stdlib.h>\nint main(void) { for (int i = 0; i < 1000; i++) free(malloc(10)); }",
	  { 1000, 10000, 1000, 0 } },
	{ "freed in order: none but the last is temporary",
	  "#include <stdlib.h>\nint main(void) { void *p[10]; for (int i = 0; i < 10; i++) p[i] = malloc(8);"
	  " for (int i = 0; i < 10; i++) free(p[i]); }",
	  { 10, 80, 1, 0 } },
	{ "some stay",
	  "#include <stdlib.h>\nint main(void) { for (int i = 0; i < 10; i++) { void *volatile p = malloc(100);"
	  " if (i % 2) free(p); } }",
	  { 10, 1000, 5, 5 } },
	{ "realloc ends one block and allocates another",
	  "#include <stdlib.h>\nint main(void) { void *volatile p = 0; for (int i = 1; i <= 100; i++) p = realloc(p, i * 10);"
	  " free(p); }",
	  { 100, 50500, 100, 0 } },
	{ "large blocks and calloc",
	  "#include <stdlib.h>\nint main(void) { void *volatile p = calloc(1000, 10000); void *volatile q = malloc(1);"
	  " free(q); free(p); }",
	  { 2, 10000001, 1, 0 } },
	{ "threads",
	  "#include <stdlib.h>\n#include <pthread.h>\nstatic void *run(void *a) { for (int i = 0; i < 1000; i++) {"
	  " void *volatile p = malloc(16), *volatile q = malloc(16); free(p); free(q); } return 0; }\n"
	  "int main(void) { pthread_t t[4]; for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, run, 0);"
	  " for (int i = 0; i < 4; i++) pthread_join(t[i], 0); _Exit(0); }",
	  { 8000, 128000, 4000, 0 } },
};

/* In a program with threads, the dynamic linker allocates blocks for each of them, which are left out. */
TEST_F_TIMEOUT(counts, of_known_programs, 120)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct sums sums;

		TH_LOG("%s", programs[i].what);
		ASSERT_TRUE(compile(self, programs[i].text));
		ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.1",
				 "--ignore-fn=allocate_dtv", "--ignore-fn=_dl_allocate_tls", "./count"));
		ASSERT_TRUE(add_up(&sums));
		EXPECT_EQ(programs[i].sums.allocations, sums.allocations);
		EXPECT_EQ(programs[i].sums.allocated, sums.allocated);
		EXPECT_EQ(programs[i].sums.live, sums.live);
		EXPECT_EQ(programs[i].sums.temporaries, sums.temporaries);
	}
}

/* Programs that copy their environment are no use here: it has variables of the profiler. */
static const char *const real[][5] = {
	{ "/usr/bin/sqlite3", ":memory:", "create table t(a, b); insert into t values (1, 'x'); select * from t;" },
	{ "/usr/bin/jq", "-n", "[range(1000)] | map({a: ., b: \"x\\(.)\"}) | length" },
	{ "/usr/bin/xmllint", "--version" },
	{ "/bin/sed", "-n", "s/a*b/\\0x/p", "/etc/services" },
	{ "/bin/grep", "-c", "root\\|x", "/etc/passwd" },
	{ "/usr/bin/diff", "/etc/passwd", "/etc/group" },
	{ "/bin/ls", "/" },
	{ "/usr/bin/sort", "/etc/passwd" },
	{ "/usr/bin/awk", "BEGIN { for (i = 0; i < 1000; i++) a[i] = i \"x\"; print length(a) }" },
};

static unsigned long long number_after(const char *text, const char *label)
{
	const char *at = strstr(text, label);
	unsigned long long number = 0;

	for (at = at ? at + strlen(label) : ""; (*at >= '0' && *at <= '9') || *at == ','; at++)
		number = *at == ',' ? number : number * 10 + (unsigned long long)(*at - '0');
	return number;
}

/*
 * Memcheck counts a realloc as an allocation and a free, too. It shows the allocations, the frees and the bytes of all
 * blocks since the start, and the blocks that are left.
 */
TEST_F_TIMEOUT(counts, equal_those_of_memcheck, 300)
{
	for (size_t i = 0; i < sizeof(real) / sizeof(real[0]); i++) {
		const char *const *argv = real[i];
		unsigned long long allocations, left, bytes;
		struct sums sums;

		TH_LOG("%s", argv[0]);
		RUN(VALGRIND, "--run-libc-freeres=no", "--run-cxx-freeres=no", argv[0], argv[1], argv[2], argv[3]);
		allocations = number_after(self->result.err, "total heap usage: ");
		left = number_after(strstr(self->result.err, "in use at exit: ") ?: "", "bytes in ");
		bytes = number_after(strstr(self->result.err, "total heap usage: ") ?: "", "frees, ");
		ASSERT_LT(0, allocations);
		RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.1", argv[0], argv[1],
		    argv[2], argv[3]);
		ASSERT_TRUE(add_up(&sums));
		EXPECT_EQ(allocations, sums.allocations);
		EXPECT_EQ(bytes, sums.allocated);
		EXPECT_EQ(left, sums.live);
	}
}

TEST_HARNESS_MAIN
