// SPDX-License-Identifier: GPL-2.0
// All allocation and deallocation functions are intercepted, and blocks have the requested size.

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/heap_session.h"

#define FIRST_SIZE 70001
#define N_CALLS	   23

FIXTURE(calls) {
	struct heap_session session;
};

FIXTURE_SETUP(calls)
{
}

FIXTURE_TEARDOWN(calls)
{
	heap_session_end(&self->session);
}

TEST_F(calls, each_allocates)
{
	ASSERT_TRUE(heap_session_run(&self->session,
				     (const char *[]){ ctl_target("heap_calls"), "keep", NULL }));
	EXPECT_EQ(0, self->session.status);
	EXPECT_EQ(0, self->session.store.header->events_lost);
	for (uint64_t size = FIRST_SIZE; size < FIRST_SIZE + N_CALLS; size++) {
		EXPECT_EQ(1, heap_session_count(&self->session, size)) {
			TH_LOG("size %lu", size);
		}
	}
	/* A resized block is counted only at its new size. */
	EXPECT_EQ(0, heap_session_count(&self->session, 80000));
	EXPECT_EQ(0, heap_session_count(&self->session, 10));
}

TEST_F(calls, each_frees)
{
	ASSERT_TRUE(heap_session_run(&self->session,
				     (const char *[]){ ctl_target("heap_calls"), "free", NULL }));
	EXPECT_EQ(0, self->session.status);
	EXPECT_LT(2 * N_CALLS, self->session.store.header->events);
	for (uint64_t size = FIRST_SIZE; size < FIRST_SIZE + N_CALLS; size++) {
		EXPECT_EQ(0, heap_session_count(&self->session, size)) {
			TH_LOG("size %lu", size);
		}
	}
}

/* The C++ library's pool of 72704 bytes is allocated by a constructor that runs before the shim's constructor. */
TEST_F(calls, before_our_constructor)
{
	ASSERT_TRUE(heap_session_run(&self->session,
				     (const char *[]){ ctl_target("heap_calls"), "keep", NULL }));
	EXPECT_EQ(1, heap_session_count(&self->session, 72704));
}

/*
 * The library's own aligned forms of operator new are executed: they refuse the same alignments, round up in the same
 * way, and call new-handlers as usual. Each block is counted once, with the requested size.
 */
TEST_F(calls, operators_are_the_librarys_own)
{
	struct ctl_result alone, profiled;

	CTL_RUN(&alone, ctl_target("heap_operators"));
	CTL_RUN(&profiled, "massif-ctl", "-q", "--massif-out-file=massif.out.operators",
		ctl_target("heap_operators"));
	EXPECT_EQ(0, alone.status);
	EXPECT_EQ(0, profiled.status);
	EXPECT_NE(NULL, strstr(alone.out, "alignment 3\n new: bad_alloc, 0 calls\n"));
	EXPECT_NE(NULL, strstr(alone.out, "at the second attempt: 1 calls\n"));
	EXPECT_STREQ(alone.out, profiled.out);
	EXPECT_STREQ("", profiled.err);
	ctl_remove_files("massif.out.operators");
	ctl_result_free(&alone);
	ctl_result_free(&profiled);
}

TEST_F(calls, operators_count_once)
{
	ASSERT_TRUE(heap_session_run(&self->session, (const char *[]){ ctl_target("heap_operators"), NULL }));
	EXPECT_EQ(0, self->session.status);
	for (uint64_t size = 70101; size <= 70104; size++)
		EXPECT_EQ(1, heap_session_count(&self->session, size));
	for (uint64_t size = 70111; size <= 70116; size++)
		EXPECT_EQ(0, heap_session_count(&self->session, size));
	/* Each block has the size that was requested, not the rounded-up size that the library actually allocates. */
	EXPECT_EQ(0, heap_session_count(&self->session, 73728));
	for (uint64_t size = (1 << 30) + 1; size <= (1 << 30) + 3; size++)
		EXPECT_EQ(1, heap_session_count(&self->session, size));
	EXPECT_EQ(0, heap_session_count(&self->session, (1 << 30) + 4096));
	/* Blocks that the new-handler allocates. */
	EXPECT_EQ(0, heap_session_count(&self->session, 90001));
	EXPECT_EQ(3, heap_session_count(&self->session, 90002));
}

/* A program that uses LLVM's C++ library; the test does not need the library's headers. */
TEST_F(calls, operators_of_another_library)
{
	static const char source[] =
		"extern \"C\" { int printf(const char *, ...); unsigned long malloc_usable_size(void *); }\n"
		"namespace std { enum class align_val_t : unsigned long {}; struct nothrow_t {}; }\n"
		"void *operator new(unsigned long, std::align_val_t, const std::nothrow_t &) noexcept;\n"
		"void operator delete(void *, std::align_val_t) noexcept;\n"
		"int main() { static const unsigned long all[] = { 0, 1, 3, 8, 16, 48, 64, 4096 };\n"
		"	for (unsigned long alignment : all) {\n"
		"		void *p = operator new(100, std::align_val_t(alignment), std::nothrow_t());\n"
		"		printf(\"%lu: %lu\\n\", alignment, p ? malloc_usable_size(p) : 0);\n"
		"		if (p) operator delete(p, std::align_val_t(alignment));\n"
		"	}\n"
		"	return !operator new(70101, std::align_val_t(4096), std::nothrow_t());\n"
		"}\n";
	struct ctl_result alone, profiled;

	ctl_write_file("calls_libcxx.cc", source, 0644);
	if (system("g++ -w -std=c++17 -O0 -nodefaultlibs -o calls_libcxx calls_libcxx.cc "
		   "-l:libc++.so.1 -l:libc++abi.so.1 -lc 2>/dev/null"))
		SKIP(return, "libc++ is not installed");
	CTL_RUN(&alone, "./calls_libcxx");
	CTL_RUN(&profiled, "massif-ctl", "-q", "--massif-out-file=massif.out.libcxx", "./calls_libcxx");
	EXPECT_EQ(0, alone.status);
	EXPECT_EQ(0, profiled.status);
	EXPECT_STREQ(alone.out, profiled.out);
	EXPECT_STREQ("", profiled.err);
	ASSERT_TRUE(heap_session_run(&self->session, (const char *[]){ "./calls_libcxx", NULL }));
	EXPECT_EQ(1, heap_session_count(&self->session, 70101));
	ctl_remove_files("calls_libcxx");
	ctl_remove_files("massif.out.libcxx");
	ctl_result_free(&alone);
	ctl_result_free(&profiled);
}

TEST_HARNESS_MAIN
