// SPDX-License-Identifier: GPL-2.0
// Programs that define allocation functions themselves run as usual, and functions that cannot be intercepted are
// reported.

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/massif_text.h"

FIXTURE(own) {
	struct ctl_result result, alone;
	char *text;
};

FIXTURE_SETUP(own)
{
}

FIXTURE_TEARDOWN(own)
{
	ctl_remove_files("massif.out");
	ctl_result_free(&self->result);
	ctl_result_free(&self->alone);
	free(self->text);
}

#define RUN(self, ...)                                                                            \
	ctl_run(&(self)->result, NULL, NULL,                                                      \
		(const char *const[]){ "massif-ctl", "-q", "--time-unit=B", "--threshold=0",      \
				       "--massif-out-file=massif.out.own", __VA_ARGS__, NULL })

#define READ(self) ((self)->text = ctl_read_file("massif.out.own"))

/* A program that counts its own calls prints the same counts as it does without massif. */
static void runs_as_alone(struct __test_metadata *_metadata, FIXTURE_DATA(own) *self,
			  const char *target)
{
	CTL_RUN(&self->alone, ctl_target(target));
	RUN(self, ctl_target(target));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_LT(0, strlen(self->result.out));
	EXPECT_STREQ(self->alone.out, self->result.out);
	EXPECT_STREQ("", self->result.err);
	ASSERT_NE(NULL, READ(self));
	EXPECT_LT(5000, massif_text_peak(self->text));
}

TEST_F(own, malloc_runs)
{
	runs_as_alone(_metadata, self, "own_malloc");
}

/*
 * Inlined calls cannot be intercepted. Under Valgrind, the program crashes: it expects its own allocator's header, and
 * blocks allocated by Massif do not have one.
 */
TEST_F(own, malloc_runs_inlined)
{
	runs_as_alone(_metadata, self, "own_malloc_fast");
}

TEST_F(own, weak_malloc_runs)
{
	runs_as_alone(_metadata, self, "own_malloc_weak");
}

TEST_F(own, new_runs)
{
	runs_as_alone(_metadata, self, "own_new");
}

/*
 * If one of the C++ library's operators calls another operator that is not intercepted, that other operator still runs.
 */
TEST_F(own, new_that_is_left_alone_runs)
{
	CTL_RUN(&self->alone, ctl_target("own_new"));
	RUN(self, "--soname-synonyms=somalloc=nouserintercepts", ctl_target("own_new"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ(self->alone.out, self->result.out);
	EXPECT_STREQ("", self->result.err);
}

TEST_F(own, new_throws)
{
	RUN(self, ctl_target("own_new"), "fails");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	ASSERT_NE(NULL, READ(self));
	/* Blocks that the program allocates after operator new has thrown an exception are counted as usual. */
	EXPECT_NE(NULL, strstr(self->text, "std::__cxx11::basic_string"));
}

static unsigned int count(const char *text, const char *what)
{
	unsigned int n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

/*
 * If a program defines operators new and delete but not malloc(), the C library's malloc() is not hooked, so memory
 * allocated by operator new is counted only once.
 */
TEST_F(own, malloc_below_new_has_no_hook)
{
	RUN(self, "--peak-inaccuracy=0", "--heap-admin=0", ctl_target("own_direct"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("direct\n", self->result.out);
	ASSERT_NE(NULL, READ(self));
	/* The C library also allocates memory, for example a file's buffer. */
	EXPECT_LT(300300, massif_text_peak(self->text));
	EXPECT_GT(400000, massif_text_peak(self->text));
}

/* --trace-malloc prints calls to the program's own operator new, but not the calls to malloc() that it makes. */
TEST_F(own, malloc_below_new_is_not_traced)
{
	RUN(self, "--trace-malloc=yes", ctl_target("own_direct"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("led on\n", self->result.out);
	EXPECT_EQ(0, count(self->result.err, " malloc(1001)"));
	EXPECT_EQ(100, count(self->result.err, "(1001) = "));
	EXPECT_EQ(100, count(self->result.err, " malloc(2002)"));
}

/*
 * The program leaves malloc(), and later realloc(), with longjmp(). After each longjmp(), it allocates 100 blocks of
 * 1000 bytes.
 */
TEST_F(own, malloc_that_is_left_by_longjmp)
{
	/* A child that the program forks has a file of its own, with the child's pid in the name. */
	RUN(self, ctl_target("own_left"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_EQ(self->result.err, strstr(self->result.err, "massif-ctl: 'massif.out.own' is reserved "
							     "for the "));
	EXPECT_EQ(self->result.err + strlen(self->result.err) - 1, strchr(self->result.err, '\n'));
	ASSERT_NE(NULL, READ(self));
	EXPECT_LT(200000, massif_text_peak(self->text));
	EXPECT_GT(210000, massif_text_peak(self->text));
}

/*
 * A library loaded with RTLD_DEEPBIND uses the C library's functions; libraries that the C library itself loads later
 * use the program's functions.
 */
TEST_F(own, library_after_one_with_deepbind)
{
	RUN(self, ctl_target("own_deep"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	ASSERT_NE(NULL, READ(self));
	EXPECT_LT(5000, massif_text_peak(self->text));
}

TEST_F(own, what_cannot_be_moved_is_told)
{
	RUN(self, ctl_target("own_odd"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "malloc is defined by "));
	EXPECT_NE(NULL, strstr(self->result.err, "own_odd itself and could not be intercepted (its first "
						 "instructions cannot be patched)"));
}

/* A function that only jumps to an intercepted one needs no patch, and is not mentioned in any message. */
TEST_F(own, jumps_to_what_is_taken_over)
{
	RUN(self, "--peak-inaccuracy=0.0", ctl_target("own_linked_jumps"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	ASSERT_NE(NULL, READ(self));
	/*
	 * At the peak, the program holds either ten blocks of 70005 bytes, or nine of these and a temporary block of
	 * 70001 to 70004 bytes.
	 */
	EXPECT_LE(9 * 70005 + 70001, massif_text_peak(self->text));
	EXPECT_GE(10 * 70005, massif_text_peak(self->text));
}

/*
 * The allocation functions of the program's library are IFUNCs, which cannot be intercepted; massif-ctl reports this.
 * The library's calls to its own malloc() bypass the shim and are not counted. The blocks allocated this way are
 * likewise freed by the library's own free().
 */
TEST_F(own, chosen_when_loaded_is_told)
{
	RUN(self, ctl_target("own_linked_chosen"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "libown_chosen.so itself and could not be intercepted "
						 "(its implementation is chosen when the program is "
						 "loaded (IFUNC))"));
	ASSERT_NE(NULL, READ(self));
	EXPECT_LT(5000, massif_text_peak(self->text));
}

/*
 * When a library is loaded again, it is mapped afresh from its file, so its allocation functions lack the jumps that
 * the shim wrote. The shim writes the jumps again before the library's constructor runs, so the 4444 bytes that the
 * constructor allocates are counted after each load.
 */
TEST_F(own, library_loaded_again)
{
	const char *last, *first;

	RUN(self, "--detailed-freq=1", ctl_target("own_plugin"), "r", "libown_bound.so");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	ASSERT_NE(NULL, READ(self));
	last = strstr(self->text, "snapshot=0");
	for (const char *next = last; next; next = strstr(next + 1, "\nsnapshot="))
		last = next;
	ASSERT_NE(NULL, last);
	/*
	 * The library's constructor allocates 4444 bytes each time the library is loaded, which happens twice in this
	 * test. The tree shows either one call site with 8888 bytes, or two call sites.
	 */
	first = strstr(last, ": 4444 ");
	EXPECT_TRUE(strstr(last, ": 8888 ") || (first && strstr(first + 1, ": 4444 ")));
}

/* jemalloc itself reports the sizes of its blocks. */
TEST_F(own, real_capacities_of_jemalloc)
{
	RUN(self, "--heap-extra=real", ctl_target("own_jemalloc"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	ASSERT_NE(NULL, READ(self));
	/* The program's first block is libstdc++'s pool of 72,704 bytes, for which jemalloc uses 80 KiB. */
	EXPECT_NE(NULL, strstr(self->text, "mem_heap_B=72704\nmem_heap_extra_B=9216\n"));
}

TEST_F(own, real_capacities_of_one_that_does_not_tell)
{
	RUN(self, "--heap-extra=real", ctl_target("own_malloc"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "extra bytes are estimated"));
}

/*
 * A library that defines reallocarray but no malloc is not an allocator. All blocks come from the C library, so the
 * shim can find out their real capacities.
 */
TEST_F(own, real_capacities_beside_a_reallocarray)
{
	RUN(self, "--heap-extra=real", ctl_target("own_linked_others"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	ASSERT_NE(NULL, READ(self));
	EXPECT_LT(5000, massif_text_peak(self->text));
}

TEST_F(own, static_pie_is_told)
{
	RUN(self, ctl_target("own_static_pie"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "is statically linked, so heap mode cannot profile it; "
						 "use --pages-as-heap=yes"));
}

/* musl, another C library. The test itself builds this target, because the compiler for it may be missing. */
TEST_F(own, musl_is_told)
{
	static const char source[] = "#include <stdlib.h>\n"
				     "int main(void) { void *volatile p = malloc(9); free(p); return 7; }\n";

	if (system("command -v musl-gcc >/dev/null"))
		SKIP(return, "musl-gcc is not installed");
	ctl_write_file("own_musl.c", source, 0644);
	ASSERT_EQ(0, system("musl-gcc -O1 -o own_musl own_musl.c"));
	RUN(self, "./own_musl");
	EXPECT_EQ(7, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "uses another C library, so heap mode cannot profile it; "
						 "use --pages-as-heap=yes"));
	ctl_remove_files("own_musl");
}

/* A library that is loaded by dlmopen() into a namespace with its own C library. */
TEST_F(own, namespace_is_told_of)
{
	RUN(self, ctl_target("own_plugin"), "m", "libown_none.so");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("massif-ctl: libraries were loaded into a separate namespace (dlmopen) with its own "
		     "C library; their allocations are not profiled\n",
		     self->result.err);
}

/* gdb has set a breakpoint where the shim's patch would go. */
TEST_F_TIMEOUT(own, debugger_is_told_of, 120)
{
	if (access("/usr/bin/gdb", X_OK))
		SKIP(return, "there is no gdb");
	RUN(self, "--trace-children=yes", "/usr/bin/gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off",
	    "-ex", "run", "--args", ctl_target("own_plugin"), "n", "libown_library.so");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.out, "exited normally"));
	EXPECT_NE(NULL, strstr(self->result.err, "libraries that were loaded later could not be patched, "
						 "so allocation functions that they define are not "
						 "profiled: a debugger has a breakpoint in the dynamic "
						 "linker\n"));
}

TEST_HARNESS_MAIN
