// SPDX-License-Identifier: GPL-2.0
// A captured stack unwinds to the frames that the process itself sees, without frame pointers.

#include <execinfo.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include "kselftest_harness.h"
#include "selftests/lib/pages_self.h"

#define NESTED 30
#define FRAMES 256

/* What stood at the innermost point. */
static struct self_capture capture;
static struct mf_space space;
static struct mf_files files;
static void *expected[FRAMES];
static int n_expected;
static volatile sig_atomic_t taken;

static uint64_t addresses[FRAMES];
static enum mf_unwind_end end;

/* Not inlined: the innermost frame, of which only the address within differs. */
static __attribute__((noinline)) void take(void)
{
	ucontext_t context;

	mf_space_deinit(&space);
	self_read_maps(&space, &files);
	n_expected = backtrace(expected, FRAMES);
	getcontext(&context);
	self_capture(&capture, &context, &space, UINT64_MAX);
	taken = 1;
}

static int compare_and_take(const void *a, const void *b)
{
	if (!taken)
		take();
	return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) int sort(void)
{
	int numbers[] = {5, 3, 9, 1, 7, 2};

	qsort(numbers, sizeof(numbers) / sizeof(numbers[0]), sizeof(numbers[0]), compare_and_take);
	return numbers[0];
}

static int (*volatile innermost)(void) = sort;

/* Frames of different sizes, and none a tail call. */
static __attribute__((noinline)) int nest(int depth)
{
	volatile char pad[1 + depth * 24];

	pad[depth * 24] = (char)depth;
	return (depth ? nest(depth - 1) : innermost()) + pad[depth * 24];
}

static uint32_t walk(const struct mf_user_stack *stack)
{
	struct mf_unwinder *unwinder;
	uint32_t n;

	if (mf_unwinder_create(&space, &files, &unwinder, NULL))
		return 0;
	n = mf_unwinder_walk(unwinder, stack, addresses, FRAMES, &end);
	mf_unwinder_destroy(unwinder);
	return n;
}

FIXTURE(stack)
{
	int unused;
};

FIXTURE_SETUP(stack)
{
	taken = 0;
	innermost = sort;
	mf_space_init(&space);
	mf_files_init(&files);
}

FIXTURE_TEARDOWN(stack)
{
	mf_space_deinit(&space);
	mf_files_deinit(&files);
}

/* Frame 0 is in take() at two places; the others are return addresses, less one. */
TEST_F(stack, equals_backtrace_through_libc)
{
	uint32_t n;

	nest(NESTED);
	ASSERT_GT(n_expected, NESTED + 3);
	n = walk(&capture.stack);
	EXPECT_EQ(n, (uint32_t)n_expected);
	EXPECT_EQ(end, MF_UNWIND_OUTERMOST);
	for (uint32_t i = 1; i < n && i < (uint32_t)n_expected; i++)
		EXPECT_EQ(addresses[i], (uint64_t)expected[i] - 1);
}

TEST_F(stack, stops_where_the_copy_ends)
{
	struct mf_user_stack cut;
	uint32_t whole, n;

	nest(NESTED);
	whole = walk(&capture.stack);
	cut = capture.stack;
	cut.n_bytes = cut.n_bytes / 4;
	n = walk(&cut);
	EXPECT_LT(n, whole);
	EXPECT_GT(n, 1);
	EXPECT_EQ(end, MF_UNWIND_CUT);
	for (uint32_t i = 1; i < n; i++)
		EXPECT_EQ(addresses[i], (uint64_t)expected[i] - 1);

	cut.n_bytes = 0;
	EXPECT_EQ(walk(&cut), 1);
	EXPECT_EQ(end, MF_UNWIND_CUT);
	cut.n_regs = 0;
	EXPECT_EQ(walk(&cut), 0);
}

TEST_F(stack, keeps_to_the_limit)
{
	struct mf_unwinder *unwinder;

	nest(NESTED);
	ASSERT_EQ(mf_unwinder_create(&space, &files, &unwinder, NULL), 0);
	EXPECT_EQ(mf_unwinder_walk(unwinder, &capture.stack, addresses, 7, &end), 7);
	EXPECT_EQ(end, MF_UNWIND_FULL);
	mf_unwinder_destroy(unwinder);
}

static volatile int *volatile nowhere;
static void *interrupted;

static void on_fault(int signal, siginfo_t *info, void *data)
{
	ucontext_t *context = data;

	take();
#if defined(__x86_64__)
	interrupted = (void *)context->uc_mcontext.gregs[REG_RIP];
#endif
	mprotect((void *)nowhere, 4096, PROT_READ | PROT_WRITE);
}

static __attribute__((noinline)) int fault(void)
{
	*nowhere = 1;
	return *nowhere;
}

/* The interrupted frame's address is exact: it is no return address. */
TEST_F(stack, passes_signal_frames)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	int at = -1;
	uint32_t n;

	nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE((void *)nowhere, MAP_FAILED);
	sigaction(SIGSEGV, &action, NULL);
	innermost = fault;
	nest(NESTED);
	n = walk(&capture.stack);
	EXPECT_EQ(n, (uint32_t)n_expected);
	for (uint32_t i = 1; i < n && i < (uint32_t)n_expected; i++) {
		uint64_t exact = (uint64_t)expected[i];

		if (expected[i] == interrupted)
			at = (int)i;
		EXPECT_EQ(addresses[i], expected[i] == interrupted ? exact : exact - 1);
	}
	EXPECT_GT(at, 0);
}

/* sub $8,%rsp; call *%rdi; add $8,%rsp; ret */
static const uint8_t jitted[] = {
	0x48, 0x83, 0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3,
};

static uint8_t *code;

static __attribute__((noinline)) int call_jitted(void)
{
	((void (*)(void (*)(void)))code)(take);
	return taken;
}

/* Without rules there is no guessing: what is outside of them is not shown at all. */
TEST_F(stack, stops_in_code_without_rules)
{
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	ASSERT_NE((void *)code, MAP_FAILED);
	memcpy(code, jitted, sizeof(jitted));
	innermost = call_jitted;
	nest(NESTED);
	EXPECT_EQ(walk(&capture.stack), 2);
	EXPECT_EQ(end, MF_UNWIND_NO_RULES);
	EXPECT_EQ(addresses[1], (uint64_t)code + 5);
}

/* A stale cache would go on with the rules of what was mapped there before. */
TEST_F(stack, forgets_code_that_went_away)
{
	struct mf_unwinder *unwinder;
	uint64_t start, stop;
	uint32_t whole, n;

	nest(NESTED);
	ASSERT_EQ(mf_unwinder_create(&space, &files, &unwinder, NULL), 0);
	whole = mf_unwinder_walk(unwinder, &capture.stack, addresses, FRAMES, &end);
	/* libc, with qsort in it. */
	start = mf_space_find(&space, (uint64_t)qsort)->start;
	stop = mf_space_find(&space, (uint64_t)qsort)->end;
	EXPECT_TRUE(mf_files_get(&files, mf_space_find(&space, start)->file)->has_code);
	ASSERT_EQ(mf_space_remove(&space, start, stop, NULL, NULL), 0);
	mf_unwinder_flush(unwinder);
	n = mf_unwinder_walk(unwinder, &capture.stack, addresses, FRAMES, &end);
	EXPECT_LT(n, whole);
	EXPECT_EQ(end, MF_UNWIND_NO_RULES);
	mf_unwinder_destroy(unwinder);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Not a benchmark: it fails only where each step searches the table again (some 50 us a stack). */
TEST_F(stack, is_cheap_when_repeated)
{
	struct mf_unwinder *unwinder;
	double start;
	uint32_t n = 0;

	nest(NESTED);
	ASSERT_EQ(mf_unwinder_create(&space, &files, &unwinder, NULL), 0);
	n = mf_unwinder_walk(unwinder, &capture.stack, addresses, FRAMES, &end);
	start = seconds();
	for (int i = 0; i < 1000; i++)
		n += mf_unwinder_walk(unwinder, &capture.stack, addresses, FRAMES, &end);
	TH_LOG("%.2f us a stack, %.0f ns a frame", (seconds() - start) * 1e3,
	       (seconds() - start) * 1e9 / n);
	EXPECT_LT(seconds() - start, 1.0);
	mf_unwinder_destroy(unwinder);
}

TEST_HARNESS_MAIN
