// SPDX-License-Identifier: GPL-2.0
// A stack copy of code without frame pointers unwinds to the same frames as backtrace() in the process itself.

#include <dlfcn.h>
#include <execinfo.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include <linux/massif.h>

#include "kselftest_harness.h"
#include "pages/stack_cache.h"
#include "selftests/lib/pages_self.h"

#define NESTED 30
#define FRAMES 256

/* The copy of the registers and the stack that take() makes. take() is the innermost frame. */
static struct self_capture capture;
static struct mf_space space;
static struct mf_files files;
static void *expected[FRAMES];
static int n_expected;
static volatile sig_atomic_t taken;

static struct mf_code code_read;
static struct mf_walk walked;

/* Must not be inlined: take() is the innermost frame, the only one whose address varies. */
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

/*
 * Calls itself @depth times, each time with a different frame size, and then calls innermost(). None of these calls is
 * a tail call.
 */
static __attribute__((noinline)) int nest(int depth)
{
	volatile char pad[1 + depth * 24];

	pad[depth * 24] = (char)depth;
	return (depth ? nest(depth - 1) : innermost()) + pad[depth * 24];
}

static uint32_t walk(const struct mf_user_stack *stack)
{
	struct mf_unwinder *unwinder;

	if (mf_unwinder_create(&space, &files, &code_read, &unwinder, NULL))
		return 0;
	mf_unwinder_walk(unwinder, stack, FRAMES, &walked);
	mf_unwinder_destroy(unwinder);
	return walked.n;
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
	mf_code_deinit(&code_read);
}

/*
 * Frame 0 is not compared: both stacks were captured in take(), but at different addresses in it. All other addresses
 * in the walk are return addresses minus one.
 */
TEST_F(stack, equals_backtrace_through_libc)
{
	uint32_t n;

	nest(NESTED);
	ASSERT_GT(n_expected, NESTED + 3);
	n = walk(&capture.stack);
	EXPECT_EQ(n, (uint32_t)n_expected);
	EXPECT_EQ(walked.end, MF_UNWIND_OUTERMOST);
	for (uint32_t i = 1; i < n && i < (uint32_t)n_expected; i++)
		EXPECT_EQ(walked.addresses[i], (uint64_t)expected[i] - 1);
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
	EXPECT_EQ(walked.end, MF_UNWIND_CUT);
	for (uint32_t i = 1; i < n; i++)
		EXPECT_EQ(walked.addresses[i], (uint64_t)expected[i] - 1);

	cut.n_bytes = 0;
	EXPECT_EQ(walk(&cut), 1);
	EXPECT_EQ(walked.end, MF_UNWIND_CUT);
	cut.n_regs = 0;
	EXPECT_EQ(walk(&cut), 0);
}

TEST_F(stack, keeps_to_the_limit)
{
	struct mf_unwinder *unwinder;

	nest(NESTED);
	ASSERT_EQ(mf_unwinder_create(&space, &files, &code_read, &unwinder, NULL), 0);
	mf_unwinder_walk(unwinder, &capture.stack, 7, &walked);
	EXPECT_EQ(walked.n, 7);
	EXPECT_EQ(walked.end, MF_UNWIND_FULL);
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

/* The address of the interrupted frame is exact, since it is not a return address. */
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
		EXPECT_EQ(walked.addresses[i], expected[i] == interrupted ? exact : exact - 1);
	}
	EXPECT_GT(at, 0);
}

/* sub $8,%rsp; call *%rdi; add $8,%rsp; ret: keeps no frame pointer */
static const uint8_t without_pointer[] = {
	0x48, 0x83, 0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3,
};

/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
static const uint8_t with_pointer[] = {
	0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3,
};

/*
 * push %rbp; mov %rsp,%rbp; mov %rsi,%rdi; call *%rdx; pop %rbp; ret: code that has a frame pointer and calls generated
 * code that may or may not have one
 */
static const uint8_t outer_with_pointer[] = {
	0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf7, 0xff, 0xd2, 0x5d, 0xc3,
};

static uint8_t *code;

static bool load(size_t at, const void *bytes, size_t size)
{
	if (!code)
		code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if ((void *)code == MAP_FAILED)
		return false;
	memcpy(code + at, bytes, size);
	return true;
}

static uint64_t fake_frame[2];

/* Calls the test's generated code while the frame pointer contains the address @frame. */
static __attribute__((noinline)) int call_with_pointer_to(void *frame)
{
	asm volatile("push %%rbp\n\t"
		     "mov %0, %%rbp\n\t"
		     "mov %%rsp, %%rbx\n\t"
		     "and $-16, %%rsp\n\t"
		     "call *%1\n\t"
		     "mov %%rbx, %%rsp\n\t"
		     "pop %%rbp"
		     :
		     : "r"(frame), "r"(code), "D"(take)
		     : "rbx", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
	return taken;
}

static int call_with_nonsense(void)
{
	volatile uint64_t here[2] = {0};

	here[0] = (uint64_t)&here[0];
	/* The frame pointer points to the stack, but the word there is not a return address. */
	here[1] = (uint64_t)fake_frame;
	return call_with_pointer_to((void *)here);
}

static int call_with_nowhere(void)
{
	return call_with_pointer_to((void *)0x1230);
}

/* If frame pointers lead nowhere, no outer frames are shown. */
TEST_F(stack, stops_in_code_without_rules)
{
	static int (*const calls[])(void) = {call_with_nonsense, call_with_nowhere};

	ASSERT_TRUE(load(0, without_pointer, sizeof(without_pointer)));
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		taken = 0;
		innermost = calls[i];
		nest(NESTED);
		EXPECT_EQ(walk(&capture.stack), 2);
		EXPECT_EQ(walked.end, MF_UNWIND_NO_RULES);
		EXPECT_EQ(walked.addresses[1], (uint64_t)code + 5);
		EXPECT_FALSE(walked.guessed[1]);
	}
}

static __attribute__((noinline)) int call_code(void)
{
	((void (*)(void (*)(void)))code)(take);
	return taken;
}

static __attribute__((noinline)) int call_code_in_code(void)
{
	((void (*)(void *, void (*)(void), void *))(code + 64))(NULL, take, code);
	return taken;
}

/*
 * The return addresses in the callers of the generated code. The generated code has no unwind rules, so backtrace()
 * would stop there; see_outside() therefore records the addresses before it calls that code.
 */
static void *outside[FRAMES];
static int n_outside;

static __attribute__((noinline)) int see_outside(void)
{
	n_outside = backtrace(outside, FRAMES);
	/* Adding n_outside after the call prevents a tail call. */
	return (innermost == call_code_in_code ? call_code_in_code() : call_code()) + n_outside;
}

static int nest_and_see(int (*call)(void))
{
	int (*volatile see)(void) = see_outside;

	innermost = call;
	return see() + 1;
}

/* In code without rules, the frame pointer leads to the caller, where rules apply again. */
TEST_F(stack, goes_on_by_frame_pointers)
{
	static const struct {
		int (*call)(void);
		uint32_t coded; /* number of frames in code without unwind rules */
	} rows[] = {{call_code, 1}, {call_code_in_code, 2}};

	ASSERT_TRUE(load(0, with_pointer, sizeof(with_pointer)));
	ASSERT_TRUE(load(64, outer_with_pointer, sizeof(outer_with_pointer)));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t n, first = 1 + rows[i].coded;

		taken = 0;
		nest_and_see(rows[i].call);
		n = walk(&capture.stack);
		EXPECT_EQ(walked.end, MF_UNWIND_OUTERMOST);
		EXPECT_EQ(walked.addresses[1], (uint64_t)code + 5);
		EXPECT_FALSE(walked.guessed[1]);
		/*
		 * Expected frames, innermost first: take(); the generated code at code + 0; if called by
		 * call_code_in_code(), also the generated code at code + 64, which calls the code at code + 0;
		 * call_code() or call_code_in_code(); see_outside(); and the callers of see_outside(), as reported by
		 * backtrace().
		 */
		ASSERT_EQ(n, first + 2 + (uint32_t)n_outside - 1);
		for (uint32_t j = 2; j < n; j++)
			EXPECT_EQ(walked.guessed[j], j >= 2 && j <= first);
		for (uint32_t j = 1; j < (uint32_t)n_outside; j++)
			EXPECT_EQ(walked.addresses[first + 1 + j], (uint64_t)outside[j] - 1);
	}
}

/*
 * The unwinder forgets code that has been unmapped: a stale cache would use the rules of the code that was previously
 * mapped at the address.
 */
TEST_F(stack, forgets_code_that_went_away)
{
	struct mf_unwinder *unwinder;
	uint64_t start, stop;
	uint32_t whole, n;

	nest(NESTED);
	ASSERT_EQ(mf_unwinder_create(&space, &files, &code_read, &unwinder, NULL), 0);
	mf_unwinder_walk(unwinder, &capture.stack, FRAMES, &walked);
	whole = walked.n;
	/* libc, the library that contains qsort. */
	start = mf_space_find(&space, (uint64_t)qsort)->start;
	stop = mf_space_find(&space, (uint64_t)qsort)->end;
	mf_code_unmap(&code_read, start, start + 1);
	EXPECT_TRUE(mf_code_take_left(&code_read));
	EXPECT_FALSE(mf_code_take_left(&code_read));
	ASSERT_EQ(mf_space_remove(&space, start, stop, NULL, NULL), 0);
	mf_unwinder_flush(unwinder);
	mf_unwinder_walk(unwinder, &capture.stack, FRAMES, &walked);
	n = walked.n;
	EXPECT_LT(n, whole);
	EXPECT_EQ(walked.end, MF_UNWIND_NO_RULES);
	mf_unwinder_destroy(unwinder);
}

static int (*library_call)(int (*)(void));

static int take_in_library(void)
{
	take();
	return 1;
}

static __attribute__((noinline)) int call_library(void)
{
	return library_call(take_in_library) + 1;
}

static __attribute__((noinline)) int see_outside_of_library(void)
{
	n_outside = backtrace(outside, FRAMES);
	/* The addition prevents a tail call. */
	return call_library() + n_outside;
}

/* Unwind rules without a search table: in .debug_frame, or in .eh_frame only. */
TEST_F(stack, finds_rules_without_a_table)
{
	static const char *const names[] = {"debug_frame", "compressed", "no_table"};
	int (*volatile see)(void) = see_outside_of_library;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[PATH_MAX];
		void *library;
		uint32_t n;

		snprintf(path, sizeof(path), "%s/selftests/targets/libpages_%s.so",
			 getenv("MASSIF_BUILD"), names[i]);
		library = dlopen(path, RTLD_NOW);
		ASSERT_NE(library, NULL) {
			TH_LOG("%s", dlerror());
		}
		library_call = (int (*)(int (*)(void)))dlsym(library, "library_call");
		innermost = see;
		nest(3);
		n = walk(&capture.stack);
		EXPECT_EQ(walked.end, MF_UNWIND_OUTERMOST);
		/*
		 * The expected frames are take, take_in_library, two frames in the library, and call_library, followed
		 * by the frames that backtrace() returned.
		 */
		ASSERT_EQ(n, 5 + (uint32_t)n_outside) {
			TH_LOG("%s", names[i]);
		}
		for (uint32_t j = 0; j < n; j++)
			EXPECT_FALSE(walked.guessed[j]);
		for (uint32_t j = 1; j < (uint32_t)n_outside; j++)
			EXPECT_EQ(walked.addresses[5 + j], (uint64_t)outside[j] - 1);
		dlclose(library);
	}
}

static void *(*library_allocate)(size_t size, void *(*allocate)(size_t));

static void *take_in_allocation(size_t size)
{
	take();
	return &capture;
}

static __attribute__((noinline)) int call_code_before_entries(void)
{
	return library_allocate(1, take_in_allocation) == &capture;
}

/* Code before the first entry of .eh_frame_hdr is treated like code without rules. */
TEST_F(stack, goes_on_before_the_first_entry)
{
	char path[PATH_MAX];
	void *library;
	uint32_t n;

	snprintf(path, sizeof(path), "%s/selftests/targets/libheap_no_rules.so", getenv("MASSIF_BUILD"));
	library = dlopen(path, RTLD_NOW);
	ASSERT_NE(library, NULL) {
		TH_LOG("%s", dlerror());
	}
	library_allocate = (void *(*)(size_t, void *(*)(size_t)))dlsym(library, "library_allocate");
	innermost = call_code_before_entries;
	nest(3);
	n = walk(&capture.stack);
	EXPECT_EQ(walked.end, MF_UNWIND_OUTERMOST);
	/*
	 * The expected frames, innermost first: take(), take_in_allocation(), three frames in libheap_no_rules.so,
	 * call_code_before_entries(), four frames of nest(), and its callers.
	 */
	ASSERT_LT(10, n);
	for (uint32_t i = 0; i < n; i++)
		EXPECT_EQ(walked.guessed[i], i >= 3 && i <= 5);
	EXPECT_LT(walked.addresses[5] - (uint64_t)call_code_before_entries, 64);
	EXPECT_LT(walked.addresses[6] - (uint64_t)nest, 256);
	EXPECT_LT(walked.addresses[9] - (uint64_t)nest, 256);
	dlclose(library);
}

/*
 * The words that a walk has read, as listed in its trace, determine the call stack that it finds: any other word or
 * register may change without affecting the walk.
 */
TEST_F(stack, depends_on_what_was_read_only)
{
	uint64_t *words = (uint64_t *)capture.bytes;
	struct mf_stack_cache *known = mf_stack_cache_create();
	struct mf_unwinder *unwinder;
	struct mf_walk whole;
	struct mf_trace trace;
	uint32_t n_changed = 0, number;

	nest(NESTED);
	ASSERT_EQ(mf_unwinder_create(&space, &files, &code_read, &unwinder, NULL), 0);
	mf_unwinder_walk(unwinder, &capture.stack, FRAMES, &whole);
	ASSERT_NE(mf_unwinder_trace(unwinder), NULL);
	trace = *mf_unwinder_trace(unwinder);
	EXPECT_GE(trace.n_slots, whole.n - 1);
	EXPECT_LT(trace.n_slots, 4 * whole.n);
	EXPECT_EQ(mf_stack_cache_find(known, &capture.stack), MF_KNOWN_NONE);
	number = mf_stack_cache_add(known, &capture.stack, &trace, 77);
	ASSERT_NE(number, MF_KNOWN_NONE);

	for (uint32_t i = 0; i < capture.stack.n_bytes / 8; i++) {
		uint64_t kept = words[i];
		bool read = false;

		for (uint32_t j = 0; j < trace.n_slots; j++)
			read |= trace.slots[j] == 8 * i;
		words[i] ^= 0x100;
		EXPECT_EQ(mf_stack_cache_find(known, &capture.stack), read ? MF_KNOWN_NONE : number);
		if (read)
			words[i] = kept;
		n_changed += !read;
	}
	for (uint32_t i = 0; i < capture.stack.n_regs - 1; i++) {
		uint64_t kept = capture.regs[i];
		bool read = false;

		for (uint32_t j = 0; j < trace.n_regs; j++)
			read |= trace.regs[j] == i;
		/*
		 * Do not change the register that contains the stack pointer: the unwinder knows its value from the
		 * stack copy's address.
		 */
		if (capture.regs[i] == capture.stack.sp)
			continue;
		capture.regs[i] ^= 0x100;
		EXPECT_EQ(mf_stack_cache_find(known, &capture.stack), read ? MF_KNOWN_NONE : number);
		if (read)
			capture.regs[i] = kept;
	}
	/* By now most words of the stack have changed, yet a walk still finds the same frames. */
	EXPECT_GT(n_changed, 2 * trace.n_slots);
	mf_unwinder_walk(unwinder, &capture.stack, FRAMES, &walked);
	EXPECT_EQ(walked.n, whole.n);
	EXPECT_EQ(walked.end, whole.end);
	EXPECT_EQ(memcmp(walked.addresses, whole.addresses, whole.n * sizeof(whole.addresses[0])), 0);
	mf_stack_cache_destroy(known);
	mf_unwinder_destroy(unwinder);
}

/*
 * A trace lists the stack words that a walk read. A walk that stops at the end of a stack copy has no trace, so it
 * cannot be cached: with a longer copy of the same stack, the walk might find more frames.
 */
TEST_F(stack, is_not_known_where_the_copy_ends)
{
	struct mf_unwinder *unwinder;
	struct mf_user_stack cut;

	nest(NESTED);
	ASSERT_EQ(mf_unwinder_create(&space, &files, &code_read, &unwinder, NULL), 0);
	cut = capture.stack;
	cut.n_bytes = cut.n_bytes / 4;
	mf_unwinder_walk(unwinder, &cut, FRAMES, &walked);
	ASSERT_EQ(walked.end, MF_UNWIND_CUT);
	EXPECT_EQ(mf_unwinder_trace(unwinder), NULL);
	/* A stack that was truncated because of the size limit on stack copies is treated as complete. */
	cut.at_limit = true;
	mf_unwinder_walk(unwinder, &cut, FRAMES, &walked);
	EXPECT_NE(mf_unwinder_trace(unwinder), NULL);
	mf_unwinder_destroy(unwinder);
}

/*
 * A known stack keeps its number even after the code in its frames has been unmapped. Such a number must be recognised
 * as stale.
 */
TEST_F(stack, numbers_become_stale)
{
	struct mf_stack_cache *known = mf_stack_cache_create();
	struct massif_stack_cache_stack *told;
	struct mf_unwinder *unwinder;
	const struct mf_trace *trace;
	uint32_t first, second, context = 0;

	nest(NESTED);
	ASSERT_EQ(mf_unwinder_create(&space, &files, &code_read, &unwinder, NULL), 0);
	mf_unwinder_walk(unwinder, &capture.stack, FRAMES, &walked);
	trace = mf_unwinder_trace(unwinder);
	first = mf_stack_cache_add(known, &capture.stack, trace, 77);
	EXPECT_TRUE(mf_stack_cache_context(known, first, &context));
	EXPECT_EQ(context, 77);

	/*
	 * massif-ctl tells the module about a known stack only once, unless a later copy of that stack shows that the
	 * message reached the module too late.
	 */
	EXPECT_TRUE(mf_stack_cache_is_unsent(known, first, 5, 1000, 2000));
	EXPECT_FALSE(mf_stack_cache_is_unsent(known, first, 5, 2000, 3000));
	EXPECT_TRUE(mf_stack_cache_is_unsent(known, first, 5, 2001, 3000));
	EXPECT_TRUE(mf_stack_cache_is_unsent(known, first, 6, 2001, 3000));
	told = mf_stack_cache_describe(known, first, 9, 6);
	ASSERT_NE(told, NULL);
	EXPECT_EQ(told->target, 9);
	EXPECT_EQ(told->code_gen, 6);
	EXPECT_EQ(told->sp, capture.stack.sp);
	EXPECT_EQ(told->nr_slots, trace->n_slots);
	for (uint32_t i = 0; i < told->nr_slots; i++)
		EXPECT_EQ(told->words[told->nr_regs + i].place, trace->slots[i]);
	free(told);

	mf_stack_cache_flush(known);
	EXPECT_FALSE(mf_stack_cache_context(known, first, &context));
	EXPECT_EQ(mf_stack_cache_find(known, &capture.stack), MF_KNOWN_NONE);
	second = mf_stack_cache_add(known, &capture.stack, trace, 78);
	EXPECT_NE(first, second);
	EXPECT_EQ(mf_stack_cache_find(known, &capture.stack), second);
	EXPECT_FALSE(mf_stack_cache_context(known, first, &context));
	EXPECT_FALSE(mf_stack_cache_context(known, second + 1, &context));
	mf_stack_cache_destroy(known);
	mf_unwinder_destroy(unwinder);
}

/*
 * push %rbp; mov %rsp,%rbp; dec %esi; je 1f; call itself; pop %rbp; ret; 1: call *%rdi; pop %rbp; ret. The code calls
 * itself until there are as many frames as %esi says.
 */
static const uint8_t nested_with_pointer[] = {
	0x55, 0x48, 0x89, 0xe5, 0xff, 0xce, 0x74, 0x07, 0xe8, 0xf3, 0xff, 0xff, 0xff, 0x5d, 0xc3,
	0xff, 0xd7, 0x5d, 0xc3,
};

static int n_coded;

static __attribute__((noinline)) int call_nested_code(void)
{
	((void (*)(void (*)(void), int))code)(take, n_coded);
	return taken;
}

/*
 * The frames of generated code are between take() and call_nested_code(). The walk goes on until it has as many frames
 * as there is room for.
 */
TEST_F(stack, chains_of_frame_pointers)
{
	enum { ROOM = 256 };
	static const int numbers[] = { ROOM - 2, ROOM - 1, ROOM, ROOM + 1, ROOM + 2, 10 * ROOM };

	ASSERT_TRUE(load(0, nested_with_pointer, sizeof(nested_with_pointer)));
	innermost = call_nested_code;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		taken = 0;
		n_coded = numbers[i];
		nest(1);
		EXPECT_EQ(FRAMES, walk(&capture.stack)) {
			TH_LOG("%d frames, of which %u were found", n_coded, walked.n);
		}
		EXPECT_EQ(MF_UNWIND_FULL, walked.end);
		for (int k = 2; k <= n_coded && k < (int)walked.n; k++)
			EXPECT_EQ((uint64_t)code + 12, walked.addresses[k]);
		if (n_coded < FRAMES - 1)
			EXPECT_LT(walked.addresses[n_coded + 1] - (uint64_t)call_nested_code, 64);
	}
}

/*
 * A trace lists the stack words that a walk read. If a walk reads more words than fit in a trace, it has no trace and
 * cannot be cached, so the stack is walked every time.
 */
TEST_F(stack, traces_that_are_full)
{
	const struct mf_trace *trace;
	struct mf_unwinder *unwinder;
	uint32_t most = 0;
	bool full = false;

	ASSERT_TRUE(load(0, nested_with_pointer, sizeof(nested_with_pointer)));
	innermost = call_nested_code;
	/*
	 * For each frame in the chain of frame pointers, the walk reads two words, the return address and the saved
	 * frame pointer, and both need room in the trace. The walk follows the chain to code in a mapped file, even
	 * beyond the last frame that it reports.
	 */
	for (n_coded = MF_TRACE_SLOTS_MAX / 2 - 20; n_coded < 10 * MF_TRACE_SLOTS_MAX / 2; n_coded++) {
		if (n_coded == MF_TRACE_SLOTS_MAX / 2 + 20)
			n_coded = 10 * MF_TRACE_SLOTS_MAX / 2 - 1;
		taken = 0;
		nest(1);
		ASSERT_EQ(mf_unwinder_create(&space, &files, &code_read, &unwinder, NULL), 0);
		mf_unwinder_walk(unwinder, &capture.stack, FRAMES, &walked);
		EXPECT_EQ(FRAMES, walked.n);
		trace = mf_unwinder_trace(unwinder);
		if (trace && trace->n_slots > most)
			most = trace->n_slots;
		EXPECT_FALSE(trace && full);
		full = !trace;
		mf_unwinder_destroy(unwinder);
	}
	EXPECT_TRUE(full);
	EXPECT_LE(MF_TRACE_SLOTS_MAX - 1, most);
	EXPECT_GE(MF_TRACE_SLOTS_MAX, most);
}

static int more_frames;

static __attribute__((noinline)) int deeper(void)
{
	volatile int pad = 1;

	if (more_frames-- > 0)
		return deeper() + pad;
	take();
	return pad;
}

/* If a stack has more frames than there is room for, only the innermost frames are shown. */
TEST_F(stack, more_frames_than_there_is_room_for)
{
	static const int numbers[] = { FRAMES - 1, FRAMES, FRAMES + 1, 10 * FRAMES };
	int others;

	innermost = deeper;
	nest(1);
	others = (int)walk(&capture.stack);
	ASSERT_EQ(MF_UNWIND_OUTERMOST, walked.end);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		taken = 0;
		more_frames = numbers[i] - others;
		nest(1);
		EXPECT_EQ(numbers[i] < FRAMES ? numbers[i] : FRAMES, (int)walk(&capture.stack));
		EXPECT_EQ(numbers[i] >= FRAMES, walked.end == MF_UNWIND_FULL) {
			TH_LOG("%d frames end with %d", numbers[i], walked.end);
		}
		for (uint32_t k = 1; k < walked.n; k++)
			EXPECT_EQ(walked.addresses[k], (uint64_t)expected[k] - 1);
	}
}

/* Returns the processor time of this thread, in seconds. */
static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Returns how long @n walks take, in seconds of processor time; if @forget is true, each has to look up all rules. */
static double time_walks(struct mf_unwinder *unwinder, int n, bool forget)
{
	double start = seconds();

	for (int i = 0; i < n; i++) {
		if (forget)
			mf_unwinder_flush(unwinder);
		mf_unwinder_walk(unwinder, &capture.stack, FRAMES, &walked);
	}
	return seconds() - start;
}

/* Not a benchmark: fails if a walk does not find the rules of the walk before. */
TEST_F(stack, is_cheap_when_repeated)
{
	enum { WALKS = 200 };
	double repeated = 1e9, anew = 1e9, time;
	struct mf_unwinder *unwinder;

	nest(NESTED);
	ASSERT_EQ(mf_unwinder_create(&space, &files, &code_read, &unwinder, NULL), 0);
	mf_unwinder_walk(unwinder, &capture.stack, FRAMES, &walked);
	for (int i = 0; i < 5; i++) {
		time = time_walks(unwinder, WALKS, false);
		repeated = time < repeated ? time : repeated;
		time = time_walks(unwinder, WALKS, true);
		anew = time < anew ? time : anew;
	}
	TH_LOG("%.2f us a stack of %u frames; %.2f us if the rules are looked up", repeated * 1e6 / WALKS, walked.n,
	       anew * 1e6 / WALKS);
	/* Without the cache, both take the same time. With it, a walk was between 2 and 2.1 times as fast on one machine. */
	EXPECT_LT(repeated * 3 / 2, anew);
	mf_unwinder_destroy(unwinder);
}

TEST_HARNESS_MAIN
