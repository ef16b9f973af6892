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
	uint64_t blocks_by_size, bytes_by_size; /* of the size classes: the same as allocations and allocated */
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
	for (uint32_t i = 0; counted && i < MF_SIZE_CLASSES; i++) {
		sums->blocks_by_size += profile->sizes[i].blocks;
		sums->bytes_by_size += profile->sizes[i].bytes;
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
		EXPECT_EQ(sums.allocations, sums.blocks_by_size);
		EXPECT_EQ(sums.allocated, sums.bytes_by_size);
	}
}

/* A child that ends before its profile has been copied holds its parent's blocks. */
TEST_F(counts, of_children_that_end_at_once)
{
	struct mf_recording recording;

	ASSERT_TRUE(compile(self, "#include <stdlib.h>\n#include <sys/wait.h>\n#include <unistd.h>\nint main(void) {"
				  " void *volatile p = malloc(10), *volatile q = malloc(1000); if (!fork()) _exit(0); wait(0);"
				  " return !p || !q; }"));
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.1", "./count"));
	ASSERT_EQ(0, mf_recording_read("massif.rec", &recording, NULL));
	ASSERT_EQ(2, recording.n_processes);
	for (size_t i = 0; i < 2; i++) {
		const struct mf_profile *profile = &recording.processes[i]->profile;

		ASSERT_EQ(2, profile->n_contexts);
		EXPECT_EQ(1, profile->counts[0].live);
		EXPECT_EQ(1, profile->counts[1].live);
	}
	mf_recording_release(&recording);
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
	{ "/usr/bin/xz", "--version" },
	{ "/usr/bin/find", "/etc/default" },
	{ "/bin/tar", "-cf", "/dev/null", "/etc/passwd" },
	{ "/usr/bin/sha256sum", "/etc/passwd" },
	{ "/usr/bin/od", "/etc/passwd" },
	{ "/usr/bin/stat", "/etc/passwd" },
	{ "/usr/bin/comm", "/etc/passwd", "/etc/group" },
	{ "/usr/bin/readelf", "-S", "/bin/ls" },
	{ "/usr/bin/tsort", "/etc/passwd" },
	{ "/usr/bin/ptx", "/etc/group" },
	{ "/usr/bin/luajit", "-e", "local t = {} for i = 1, 1000 do t[i] = {i} end print(#t)" },
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
		EXPECT_EQ(sums.allocations, sums.blocks_by_size);
		EXPECT_EQ(sums.allocated, sums.bytes_by_size);
	}
}

/*
 * heaptrack counts one call of its own, which can be a temporary one, and calls a block temporary if it is freed by the
 * next call of all, by any thread. That is the same in programs with one thread that free no other block in between.
 */
TEST_F_TIMEOUT(counts, equal_those_of_heaptrack, 120)
{
	static const char text[] =
		"#include <stdlib.h>\nint main(void) { void *p = malloc(10), *q;\n"
		"for (int i = 0; i < 100; i++) p = realloc(p, 20 + 1000 * i);\n"
		"for (int i = 0; i < 100; i++) { q = malloc(50); void *r = malloc(60); free(r); free(q); }\n"
		"for (int i = 0; i < 100; i++) { posix_memalign(&q, 64, 50); free(q); free(calloc(3, i)); }\n"
		"return 0; }";
	unsigned long long temporaries;
	struct sums sums;

	if (RUN("heaptrack", "--version"))
		SKIP(return, "heaptrack is not installed");
	ASSERT_TRUE(compile(self, text));
	RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.1", "./count");
	ASSERT_TRUE(add_up(&sums));
	EXPECT_EQ(501, sums.allocations);
	EXPECT_EQ(400, sums.temporaries);
	ASSERT_EQ(0, RUN("heaptrack", "-o", "massif.heaptrack", "./count"));
	ASSERT_EQ(0, RUN("sh", "-c", "heaptrack_print -f massif.heaptrack.*"));
	EXPECT_EQ(sums.allocations + 1, number_after(self->result.out, "\ncalls to allocation functions: "));
	temporaries = number_after(self->result.out, "\ntemporary memory allocations: ");
	EXPECT_LE(sums.temporaries, temporaries);
	EXPECT_GE(sums.temporaries + 1, temporaries);
}

/* Each allocation function is told apart, in whichever way its first block is counted. */
TEST_F_TIMEOUT(counts, by_allocation_function, 120)
{
	static const char text[] =
		"#include <cstdlib>\n#include <malloc.h>\n#include <new>\n"
		"struct alignas(64) wide { char bytes[64]; };\n"
		"void *volatile p; void *volatile old = 0;\n"
		"int main() {\n"
		"for (int i = 0; i < 7; i++) p = malloc(10);\n"
		"for (int i = 0; i < 6; i++) p = calloc(2, 10);\n"
		"for (int i = 0; i < 3; i++) p = realloc(old, 30);\n"
		"for (int i = 0; i < 3; i++) p = realloc(p, 100 * i + 100);\n"
		"p = reallocarray(old, 5, 5);\n"
		"p = memalign(64, 40); p = aligned_alloc(64, 64); p = valloc(7); p = pvalloc(8);\n"
		"void *q; if (posix_memalign(&q, 64, 50)) return 1;\n"
		"for (int i = 0; i < 9; i++) p = new char;\n"
		"p = new wide; p = new (std::nothrow) char;\n"
		"for (int i = 0; i < 4; i++) p = new char[11];\n"
		"p = new wide[2]; _Exit(0); }\n";
	/* One more call of malloc is the C++ library's own. */
	static const char *const rows[] = {
		"  19.05%  malloc\n",
		"        11       74 B          0  26.19%  operator new\n",
		"         7      715 B          3  16.67%  realloc\n",
		"         6      120 B          0  14.29%  calloc\n",
		"         5      172 B          0  11.90%  operator new[]\n",
		"         5      169 B          0  11.90%  memalign, aligned_alloc, ...\n",
	};

	ctl_write_file("count.cc", text, 0644);
	ASSERT_EQ(0, RUN("g++", "-std=c++17", "-O0", "-g", "-o", "count", "count.cc"));
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.1", "./count"));
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--by=allocator", "--sort=calls", "massif.rec"));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		EXPECT_NE(NULL, strstr(self->result.out, rows[i])) {
			TH_LOG("'%s' is not in:\n%s", rows[i], self->result.out);
		}
	}
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--by=allocator", "--sort=end", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, "  calloc\n"));
	EXPECT_EQ(0, RUN("massif-ctl", "diff", "--by=allocator", "--value=calls", "massif.rec", "massif.rec"));
	EXPECT_EQ(0, RUN("massif-ctl", "export", "--to=json", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, "\"operator new[]\""));
	EXPECT_EQ(1, RUN("massif-ctl", "show", "--by=allocator", "massif.1"));
	EXPECT_NE(NULL, strstr(self->result.err, "which allocation functions"));
}

/* Blocks that a program reports, and those of its own allocator. */
TEST_F_TIMEOUT(counts, by_allocators_of_programs, 120)
{
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.1",
			 ctl_target("own_malloc")));
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--by=allocator", "--sort=calls", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, "(the program's own allocator)\n")) {
		TH_LOG("%s", self->result.out);
	}
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.1",
			 ctl_target("diff_requests"), "blocks"));
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--by=allocator", "--sort=calls", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, "(reported by the program)\n")) {
		TH_LOG("%s", self->result.out);
	}
}

/* Blocks at the limits of the classes, larger ones than the table of blocks has slots for, and those of realloc. */
TEST_F_TIMEOUT(counts, sizes, 120)
{
	static const struct {
		uint32_t class;
		uint64_t blocks, bytes;
	} expected[] = {
		{ 0, 2, 1 }, { 1, 1, 2 }, { 2, 2, 7 }, { 3, 2, 13 }, { 4, 2, 25 }, { 10, 1, 1024 }, { 11, 1, 1025 },
		{ 20, 1, 1 << 20 }, { 21, 3, 3 * ((1 << 20) + 1ull) }, { 31, 1, (1ull << 30) + 1 },
	};
	static const char text[] =
		"#include <stdlib.h>\nvoid *volatile p;\nint main(void) {\n"
		"size_t sizes[] = { 0, 1, 2, 3, 4, 5, 8, 9, 16, 1024, 1025, 1 << 20, (1 << 20) + 1, (1ul << 30) + 1 };\n"
		"for (int i = 0; i < 14; i++) p = malloc(sizes[i]);\n"
		"p = calloc(1, (1 << 20) + 1); p = realloc(p, (1 << 20) + 1); _Exit(0); }";
	uint64_t blocks = 0;
	struct mf_recording recording;
	const struct mf_size_class *sizes;

	ASSERT_TRUE(compile(self, text));
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.1", "./count"));
	ASSERT_EQ(0, mf_recording_read("massif.rec", &recording, NULL));
	sizes = recording.processes[0]->profile.sizes;
	ASSERT_NE(NULL, sizes);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		EXPECT_EQ(expected[i].blocks, sizes[expected[i].class].blocks);
		EXPECT_EQ(expected[i].bytes, sizes[expected[i].class].bytes);
		blocks += expected[i].blocks;
	}
	for (uint32_t i = 0; i < MF_SIZE_CLASSES; i++)
		blocks -= sizes[i].blocks;
	EXPECT_EQ(0, blocks);
	mf_recording_release(&recording);
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--sizes", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, "\n<=  2.000 MB            3   18.75%   3.000 MB    0.29%  "));
	EXPECT_NE(NULL, strstr(self->result.out, "\n      in all           16  100.00%   1.004 GB  100.00%\n"));
}

TEST_HARNESS_MAIN
