// SPDX-License-Identifier: GPL-2.0
// The shim's stacks equal those of a complete unwinder, frame by frame, from the caller outwards.

#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unwind.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "kselftest_harness.h"
#include "preload/memo.h"
#include "preload/unwind.h"

#define THEIRS_MAX 1024u

/* Not inlined, not cloned, and no calls made into jumps. */
#define FRAME __attribute__((noipa, optimize("no-optimize-sibling-calls")))

struct comparison {
	uint64_t ours[MF_DEPTH_MAX], theirs[THEIRS_MAX];
	uint32_t n_ours, n_theirs;
	uint64_t caller;
};

static struct comparison compared;
static uint32_t depth = MF_DEPTH_MAX;

/* What a thread knows of its stacks; its signal handlers, who may come in between, know their own. */
struct knowledge {
	struct mf_walk fresh, after_another;
	struct mf_memo memo;
};

#define REMEMBERED_MAX 20000u

static __thread struct knowledge knowledge[2];
static __thread bool in_handler;

/* The stacks in the memos, by context. */
static struct {
	uint32_t n, depth;
	uint64_t pcs[64];
} remembered[REMEMBERED_MAX];
static uint32_t n_remembered;

/* Stacks of which the walk that starts in another's frames, or the memo, has something else. */
static uint32_t wrong_after_another, wrong_in_memo, hits, recalls;

/* Walks that the shim's own rules could not finish. */
static uint32_t complete_walks;

_Unwind_Reason_Code __real__Unwind_Backtrace(_Unwind_Trace_Fn visit, void *data);
_Unwind_Reason_Code __wrap__Unwind_Backtrace(_Unwind_Trace_Fn visit, void *data);

_Unwind_Reason_Code __wrap__Unwind_Backtrace(_Unwind_Trace_Fn visit, void *data)
{
	complete_walks++;
	return __real__Unwind_Backtrace(visit, data);
}

static void walk_theirs(struct comparison *c)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t pc;

	c->n_theirs = 0;
	unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_NONE);
	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	do {
		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		if (pc && (c->n_theirs || pc == c->caller) && c->n_theirs < THEIRS_MAX)
			c->theirs[c->n_theirs++] = pc;
	} while (unw_step(&cursor) > 0);
}

static void copy(const struct mf_walk *walk, struct comparison *c)
{
	c->n_ours = walk->n;
	for (uint32_t i = 0; i < walk->n; i++)
		c->ours[i] = walk->frames[walk->n - 1 - i].pc;
}

static bool is_same(const struct mf_walk *walk)
{
	if (walk->n != compared.n_ours)
		return false;
	for (uint32_t i = 0; i < walk->n; i++)
		if (walk->frames[walk->n - 1 - i].pc != compared.ours[i])
			return false;
	return true;
}

static void remember(struct mf_memo *memo, const struct mf_registers *caller,
		     const struct mf_walk *walk)
{
	uint32_t context = __atomic_add_fetch(&n_remembered, 1, __ATOMIC_RELAXED);

	if (!walk->repeatable || compared.n_ours > 64 || context >= REMEMBERED_MAX)
		return;
	remembered[context].n = compared.n_ours;
	remembered[context].depth = depth;
	memcpy(remembered[context].pcs, compared.ours, compared.n_ours * sizeof(uint64_t));
	mf_memo_enter(memo, caller, walk, context);
}

static void recall(struct mf_memo *memo, const struct mf_registers *caller,
		   const struct mf_walk *walk)
{
	uint32_t context = mf_memo_recall(memo, caller->sp, caller->pc);

	if (context)
		recalls++;
	else
		context = mf_memo_find(memo, caller->sp, caller->pc);
	if (!context) {
		remember(memo, caller, walk);
		return;
	}
	hits++;
	if (remembered[context].depth == depth &&
	    (remembered[context].n != compared.n_ours ||
	     memcmp(remembered[context].pcs, compared.ours, compared.n_ours * sizeof(uint64_t))))
		wrong_in_memo++;
}

static void walk_ours(const struct mf_registers *caller)
{
	struct knowledge *known = &knowledge[in_handler];

	known->fresh.n = 0;
	mf_unwind(&known->fresh, caller, depth);
	copy(&known->fresh, &compared);
	mf_unwind(&known->after_another, caller, depth);
	wrong_after_another += !is_same(&known->after_another);
	recall(&known->memo, caller, &known->after_another);
}

/* The innermost frame of every scenario: takes the stack in all ways. */
static FRAME __attribute__((optimize("no-omit-frame-pointer"))) int probe(void)
{
	compared.caller = (uint64_t)(uintptr_t)__builtin_return_address(0);
	walk_ours(&MF_CALLER);
	walk_theirs(&compared);
	return 1;
}

/* The first frame in which the two differ, -1 if none. */
static int difference(const struct comparison *c)
{
	uint32_t expected = c->n_theirs < depth ? c->n_theirs : depth;

	for (uint32_t i = 0; i < expected && i < c->n_ours; i++)
		if (c->ours[i] != c->theirs[i])
			return (int)i;
	return c->n_ours == expected ? -1 : (int)(c->n_ours < expected ? c->n_ours : expected);
}

/* @least: frames that there must be at least, so that two empty stacks are no success. */
#define EXPECT_SAME(least)                                                                        \
	do {                                                                                      \
		EXPECT_LE(least, (int)compared.n_theirs);                                         \
		EXPECT_EQ(-1, difference(&compared))                                              \
		{                                                                                 \
			TH_LOG("%u frames, not %u", compared.n_ours, compared.n_theirs);          \
		}                                                                                 \
		EXPECT_EQ(0, wrong_after_another);                                                \
		EXPECT_EQ(0, wrong_in_memo);                                                      \
	} while (0)

static FRAME int recurse(int n)
{
	volatile char pad[24];

	pad[0] = (char)n;
	return (n ? recurse(n - 1) : probe()) + pad[0];
}

TEST(recursion)
{
	recurse(60);
	EXPECT_SAME(63);
	EXPECT_EQ(0, complete_walks);
	recurse(3);
	EXPECT_SAME(6);
}

TEST(depth_limits)
{
	static const uint32_t limits[] = { 1, 2, 80, 255, 256 };

	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		depth = limits[i];
		recurse(400);
		EXPECT_EQ(limits[i], compared.n_ours);
		EXPECT_SAME(400);
	}
	/* More than there is room for is as much as there is room for. */
	depth = 100000;
	recurse(400);
	EXPECT_EQ(MF_DEPTH_MAX, compared.n_ours);
	EXPECT_EQ(0, memcmp(compared.ours, compared.theirs, MF_DEPTH_MAX * sizeof(uint64_t)));
}

static FRAME int compare_integers(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return probe() - 1 + (*x > *y) - (*x < *y);
}

/* Through functions of the C library that call back. */
TEST(library_callbacks)
{
	int numbers[] = { 5, 3, 9, 1, 7, 2, 8 }, key = 9;

	qsort(numbers, 7, sizeof(*numbers), compare_integers);
	EXPECT_SAME(6);
	EXPECT_NE(NULL, bsearch(&key, numbers, 7, sizeof(*numbers), compare_integers));
	EXPECT_SAME(5);
}

static volatile sig_atomic_t handled;
static uint32_t wrong_in_handler;

static void on_signal(int number)
{
	in_handler = true;
	handled += probe();
	in_handler = false;
	wrong_in_handler += difference(&compared) >= 0;
}

static void on_illegal(int number, siginfo_t *info, void *data)
{
	ucontext_t *context = data;

	in_handler = true;
	handled += probe();
	in_handler = false;
	wrong_in_handler += difference(&compared) >= 0;
	context->uc_mcontext.gregs[REG_RIP] += 2; /* behind the ud2 */
}

int at_start(void);
int in_leaf(void);

/*
 * A signal at a function's first instruction, in a leaf between two changes of the stack, and when
 * the leaf has restored rbp and the place where it was saved holds something else.
 */
__asm__(".text\n"
	".type at_start, @function\n"
	"at_start:\n"
	"	.cfi_startproc\n"
	"	ud2\n"
	"	mov $1, %eax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".type in_leaf, @function\n"
	"in_leaf:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset rbp, -16\n"
	"	mov $3, %ebp\n"
	"	sub $40, %rsp\n"
	"	.cfi_adjust_cfa_offset 40\n"
	"	ud2\n"
	"	add $40, %rsp\n"
	"	.cfi_adjust_cfa_offset -40\n"
	"	mov %ebp, %eax\n"
	"	pop %rbp\n"
	"	.cfi_restore rbp\n"
	"	.cfi_def_cfa_offset 8\n"
	"	movq $16, -8(%rsp)\n"
	"	ud2\n"
	"	ret\n"
	"	.cfi_endproc\n");

/* Its own frame is found by rbp alone. */
static FRAME int calls(int (*function)(void), int n)
{
	volatile char *room = alloca((size_t)n);

	room[0] = 1;
	return function() + room[0];
}

static void catch(int number, int flags)
{
	struct sigaction action = { .sa_flags = flags };

	if (flags & SA_SIGINFO)
		action.sa_sigaction = on_illegal;
	else
		action.sa_handler = on_signal;
	sigaction(number, &action, NULL);
}

static void use_alternate_stack(void)
{
	stack_t stack = { .ss_size = 1 << 18 };

	stack.ss_sp = malloc(stack.ss_size);
	sigaltstack(&stack, NULL);
}

TEST(signal_handler)
{
	catch(SIGUSR1, 0);
	raise(SIGUSR1);
	EXPECT_EQ(1, handled);
	EXPECT_SAME(7);
	EXPECT_EQ(0, complete_walks);
}

TEST(signal_handler_on_its_own_stack)
{
	use_alternate_stack();
	catch(SIGUSR1, SA_ONSTACK);
	raise(SIGUSR1);
	EXPECT_EQ(1, handled);
	EXPECT_SAME(7);
}

TEST(interrupted_leaf)
{
	for (int alternate = 0; alternate < 2; alternate++) {
		if (alternate)
			use_alternate_stack();
		catch(SIGILL, SA_SIGINFO | (alternate ? SA_ONSTACK : 0));
		EXPECT_EQ(2, calls(at_start, 40));
		EXPECT_SAME(6);
		EXPECT_EQ(4, calls(in_leaf, 40));
		EXPECT_SAME(6);
	}
	EXPECT_EQ(6, handled);
	EXPECT_EQ(0, wrong_in_handler);
	EXPECT_EQ(0, complete_walks);
}

static FRAME int busy_compare(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static FRAME int busy(int n)
{
	int numbers[64];

	if (n)
		return busy(n - 1) + 1;
	for (int i = 0; i < 64; i++)
		numbers[i] = (i * 37) % 64;
	qsort(numbers, 64, sizeof(*numbers), busy_compare);
	return numbers[0];
}

/* Signals at whatever instruction, prologues and epilogues among them. */
TEST(interrupted_anywhere)
{
	struct itimerval often = { .it_interval.tv_usec = 150, .it_value.tv_usec = 150 };

	catch(SIGALRM, SA_RESTART);
	setitimer(ITIMER_REAL, &often, NULL);
	for (uint32_t i = 0; i < 2000000 && handled < 3000; i++)
		busy((int)(i % 8));
	memset(&often, 0, sizeof(often));
	setitimer(ITIMER_REAL, &often, NULL);
	EXPECT_LT(500, handled);
	EXPECT_EQ(0, wrong_in_handler);
	EXPECT_EQ(0, wrong_after_another);
	EXPECT_EQ(0, wrong_in_memo);
}

static FRAME int aligned(int n)
{
	alignas(64) volatile char line[64];

	line[0] = (char)n;
	return (n ? aligned(n - 1) : probe()) + line[0];
}

static FRAME int aligned_and_variable(int n)
{
	alignas(128) volatile char line[128];
	volatile char *room = alloca((size_t)n * 24 + 1);

	line[0] = room[0] = (char)n;
	return (n ? aligned_and_variable(n - 1) : probe()) + line[0] + room[0];
}

static FRAME __attribute__((force_align_arg_pointer)) int realigned(int n)
{
	volatile int value = n;

	return (n ? realigned(n - 1) : probe()) + value;
}

typedef int vector __attribute__((vector_size(32)));

static FRAME __attribute__((target("avx2"))) int with_vectors(int n)
{
	volatile vector value = { n, n, n, n, n, n, n, n };

	return (n ? with_vectors(n - 1) : probe()) + value[0];
}

TEST(realigned_stacks)
{
	aligned(5);
	EXPECT_SAME(9);
	aligned_and_variable(5);
	EXPECT_SAME(9);
	realigned(5);
	EXPECT_SAME(9);
	EXPECT_EQ(0, complete_walks);
	if (!__builtin_cpu_supports("avx2"))
		SKIP(return, "this processor has no AVX2");
	with_vectors(5);
	EXPECT_SAME(9);
	EXPECT_EQ(0, complete_walks);
}

static FRAME int variable(int n)
{
	volatile char array[n * 8 + 1];
	volatile char *room = alloca((size_t)n + 1);

	array[n] = room[n] = 1;
	return (n ? variable(n - 1) : probe()) + array[n] + room[n];
}

TEST(variable_frames)
{
	variable(20);
	EXPECT_SAME(24);
	EXPECT_EQ(0, complete_walks);
}

static uint32_t seed = 1;
static uint32_t wrong_on_the_way;

static uint32_t choose(uint32_t n)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % n;
}

static FRAME int wander(int n);

static FRAME int wander_aside(int n)
{
	volatile char room[40];

	room[0] = (char)n;
	return wander(n) + room[0];
}

static FRAME int wander_aligned(int n)
{
	alignas(64) volatile char line[64];

	line[0] = (char)n;
	return wander(n) + line[0];
}

static FRAME int wander_variable(int n)
{
	volatile char *room = alloca(choose(3) * 16 + 1);

	room[0] = (char)n;
	return wander(n) + room[0];
}

/* The same frames again and again, each from several places, and changed now inside, now outside. */
static FRAME int wander(int n)
{
	int sum = 0;

	for (uint32_t i = 0; n && i < 2; i++) {
		switch (choose(5)) {
		case 0:
			sum += wander_aside(n - 1);
			break;
		case 1:
			sum += wander_aligned(n - 1);
			break;
		case 2:
			sum += wander_variable(n - 1);
			break;
		case 3:
			sum += wander(n - 1);
			break;
		default:
			sum += wander_aside(n - 1);
		}
	}
	sum += probe();
	wrong_on_the_way += difference(&compared) >= 0;
	return sum;
}

TEST(stacks_had_before)
{
	for (int i = 0; i < 300; i++)
		wander(1 + i % 7);
	EXPECT_EQ(0, wrong_on_the_way);
	EXPECT_EQ(0, wrong_after_another);
	EXPECT_EQ(0, wrong_in_memo);
	EXPECT_LT(1000, hits);
	EXPECT_LT(1000, recalls);
	TH_LOG("%u hits, %u of them without a hash, %u stacks remembered", hits, recalls, n_remembered);
}

#define TURNS 9

static uint8_t turns[TURNS];
static volatile int passed;

static FRAME int turn(int n);

static FRAME int turn_small(int n)
{
	volatile char room[24];

	room[0] = (char)n;
	return turn(n - 1) + room[0];
}

/* As large a frame, with a register saved in it that is nobody's frame register. */
static FRAME int turn_saving(int n)
{
	int value = passed;

	__asm__ volatile("" : "+r"(value) : : "rbp");
	return turn(n - 1) + value;
}

static FRAME int turn_large(int n)
{
	volatile char room[120];

	room[0] = (char)n;
	return turn(n - 1) + room[0];
}

static FRAME int turn_variable(int n, size_t size)
{
	volatile char *room = alloca(size);

	room[0] = (char)n;
	return turn(n - 1) + room[0];
}

/* Code that no table describes, with a frame pointer: as a JIT makes it. */
static int (*made[3])(int (*function)(int), int n);

static FRAME int turn_aligned(int n)
{
	alignas(64) volatile char line[64];

	line[0] = (char)n;
	return turn(n - 1) + line[0];
}

/* One place to call from. What stands behind the call keeps it apart from the others, and no tail call. */
#define TURN(number, call)             \
	case number:                   \
		sum = (call);          \
		passed = (number) + 1; \
		break

/* Each of these from two places. */
static FRAME int turn(int n)
{
	int sum = 0;

	if (!n)
		return probe();
	switch (turns[n - 1]) {
	TURN(0, turn_small(n));
	TURN(1, turn_small(n));
	TURN(2, turn_saving(n));
	TURN(3, turn_saving(n));
	TURN(4, turn_large(n));
	TURN(5, turn_large(n));
	TURN(6, turn_variable(n, 16));
	TURN(7, turn_variable(n, 32));
	TURN(8, turn_aligned(n));
	TURN(9, turn_aligned(n));
	TURN(10, made[0](turn, n - 1));
	TURN(11, made[1](turn, n - 1));
	TURN(12, made[2](turn, n - 1));
	}
	return sum;
}

/*
 * All of a stack but some frames is where it was: these are others, of the first @kinds, or go on elsewhere;
 * and back again. Returns how many differ from a complete unwinder's; or, if not 0, do not have @n frames.
 */
static FRAME uint32_t turn_about(int times, uint32_t kinds, uint32_t n)
{
	uint8_t before[TURNS];
	uint32_t wrong = 0;

	for (int i = 0; i < times; i++) {
		if (i % 3 == 2) {
			memcpy(turns, before, sizeof(turns));
		} else {
			memcpy(before, turns, sizeof(turns));
			for (uint32_t changes = 1 + choose(3); changes; changes--)
				turns[choose(TURNS)] = (uint8_t)choose(kinds);
		}
		turn(TURNS);
		wrong += n ? compared.n_ours != n : difference(&compared) >= 0;
	}
	return wrong;
}

TEST(other_ways_to_the_same_place)
{
	EXPECT_EQ(0, turn_about(6000, 10, 0));
	EXPECT_EQ(0, wrong_after_another);
	EXPECT_EQ(0, wrong_in_memo);
	EXPECT_EQ(0, complete_walks);
}

static void make_code(void)
{
	static const uint8_t codes[][32] = {
		/* push %rbp; mov %rsp,%rbp; mov %rdi,%rax; mov %esi,%edi; call *%rax; pop %rbp; ret */
		{ 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3 },
		/* The same from another place, with a frame of the same size. */
		{ 0x90, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3 },
		/* And with sub $32,%rsp and leave. */
		{ 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0x48, 0x89, 0xf8, 0x89, 0xf7, 0xff,
		  0xd0, 0xc9, 0xc3 },
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		memcpy(code, codes[i], sizeof(codes[i]));
		made[i] = (int (*)(int (*)(int), int))code;
	}
}

/* Frames behind one that was guessed are known again as others are; but not before objects are heard of. */
TEST(ways_through_made_code)
{
	uint32_t n;

	EXPECT_EQ(0, turn_about(9, 10, 0));
	n = compared.n_ours;
	hits = 0;

	make_code();
	memset(turns, 10, sizeof(turns));
	for (int i = 0; i < 9; i++)
		turn(TURNS);
	EXPECT_FALSE(knowledge[0].after_another.repeatable);
	EXPECT_EQ(0, hits);
	EXPECT_FALSE(mf_unwind_has_guessed());

	mf_unwind_hears_of_objects();
	for (int i = 0; i < 9; i++)
		turn(TURNS);
	EXPECT_TRUE(knowledge[0].after_another.repeatable);
	EXPECT_LT(0, hits);
	EXPECT_TRUE(mf_unwind_has_guessed());
	EXPECT_FALSE(mf_unwind_has_guessed());

	/* They go by other guesses, but no kind is two frames. */
	EXPECT_EQ(0, turn_about(6000, 13, n));
	EXPECT_EQ(0, wrong_after_another);
	EXPECT_EQ(0, wrong_in_memo);
	EXPECT_EQ(0, complete_walks);
	EXPECT_LT(1000, hits);
	TH_LOG("%u hits, %u of them without a hash", hits, recalls);
}

static jmp_buf escape;

static FRAME __attribute__((noreturn)) void never_returns(void)
{
	probe();
	longjmp(escape, 1);
}

/* Its last instruction is the call: the return address is another function's. */
static FRAME void ends_in_call(void)
{
	never_returns();
}

TEST(noreturn_call_at_the_end)
{
	if (!setjmp(escape))
		ends_in_call();
	EXPECT_SAME(5);
	EXPECT_EQ(0, complete_walks);
}

static void *run_thread(void *data)
{
	recurse(5);
	return NULL;
}

TEST(thread)
{
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, run_thread, NULL));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_SAME(9); /* and start_thread, clone3 */
	EXPECT_EQ(0, complete_walks);
}

static struct comparison before_main;

static __attribute__((constructor)) void construct(void)
{
	recurse(2);
	before_main = compared;
}

TEST(constructor)
{
	EXPECT_LE(6, before_main.n_theirs);
	EXPECT_EQ(-1, difference(&before_main));
}

static ucontext_t main_context, coroutine_context;

static void run_coroutine(void)
{
	recurse(5);
}

TEST(coroutine)
{
	size_t size = 1 << 18;
	char *stack = malloc(size);

	getcontext(&coroutine_context);
	coroutine_context.uc_stack.ss_sp = stack;
	coroutine_context.uc_stack.ss_size = size;
	coroutine_context.uc_link = &main_context;
	makecontext(&coroutine_context, run_coroutine, 0);
	swapcontext(&main_context, &coroutine_context);
	EXPECT_SAME(7);
	free(stack);
}

/* A library at the very address of another one, whose code has a frame of another size there. */
TEST(unloaded_library)
{
	static const char *const names[] = { "small", "large", "small" };
	const char *build = getenv("MASSIF_BUILD");
	void *address = NULL;

	if (!build)
		SKIP(return, "MASSIF_BUILD does not say where the plugins are");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		int (*call_back)(int (*function)(void));
		char path[4096];
		void *handle;

		snprintf(path, sizeof(path), "%s/selftests/targets/libunwind_%s.so", build, names[i]);
		handle = dlopen(path, RTLD_NOW);
		ASSERT_NE(NULL, handle);
		call_back = (int (*)(int (*)(void)))dlsym(handle, "call_back");
		ASSERT_NE(NULL, call_back);
		if (address && address != (void *)call_back)
			SKIP(return, "the dynamic linker took another address");
		address = (void *)call_back;
		EXPECT_EQ(2, call_back(probe));
		EXPECT_SAME(5);
		dlclose(handle);
		mf_unwind_forget();
		memset(&knowledge[0].after_another, 0, sizeof(knowledge[0].after_another));
		mf_memo_forget(&knowledge[0].memo);
	}
	EXPECT_EQ(0, complete_walks);
}

static FRAME int probe_and_return(void)
{
	return probe() + 1;
}

/* Code that no table describes: there is no more to know than the caller, and nothing crashes. */
TEST(code_without_tables)
{
	static const uint8_t codes[][32] = {
		/* sub $8,%rsp; call *%rdi; add $8,%rsp; ret */
		{ 0x48, 0x83, 0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3 },
		/* push %rbp; mov $0x12345678,%ebp; call *%rdi; pop %rbp; ret */
		{ 0x55, 0xbd, 0x78, 0x56, 0x34, 0x12, 0xff, 0xd7, 0x5d, 0xc3 },
		/* push %rbp; mov $-1,%rbp; call *%rdi; pop %rbp; ret */
		{ 0x55, 0x48, 0xc7, 0xc5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xd7, 0x5d, 0xc3 },
		/* push %rbp; xor %ebp,%ebp; call *%rdi; pop %rbp; ret */
		{ 0x55, 0x31, 0xed, 0xff, 0xd7, 0x5d, 0xc3 },
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		int (*function)(int (*call)(void)) = (int (*)(int (*)(void)))code;

		ASSERT_NE(MAP_FAILED, code);
		memcpy(code, codes[i], sizeof(codes[i]));
		EXPECT_EQ(2, function(probe_and_return));
		EXPECT_LE(1, compared.n_ours);
		EXPECT_EQ(compared.caller, compared.ours[0]);
		/* Called from there directly, the caller itself is unknown code. */
		EXPECT_EQ(1, function(probe));
		EXPECT_LE(1, compared.n_ours);
		EXPECT_EQ(compared.caller, compared.ours[0]);
		munmap(code, 4096);
	}
}

int by_rbx(int (*function)(void));
int by_moved_address(int (*function)(void));
int by_expression(int (*function)(void));

/*
 * What the shim's own rules cannot express: other registers, other places, other expressions. The
 * last one fills its frame with what looks like return addresses.
 */
__asm__(".text\n"
	".type by_rbx, @function\n"
	"by_rbx:\n"
	"	.cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset rbx, -16\n"
	"	mov %rsp, %rbx\n"
	"	.cfi_def_cfa_register rbx\n"
	"	sub $64, %rsp\n"
	"	call *%rdi\n"
	"	mov %rbx, %rsp\n"
	"	.cfi_def_cfa_register rsp\n"
	"	pop %rbx\n"
	"	.cfi_restore rbx\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".type by_moved_address, @function\n"
	"by_moved_address:\n"
	"	.cfi_startproc\n"
	"	mov (%rsp), %rax\n"
	"	push %rax\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset 16, -16\n"
	"	movq $0, 8(%rsp)\n"
	"	call *%rdi\n"
	"	mov (%rsp), %rcx\n"
	"	mov %rcx, 8(%rsp)\n"
	"	.cfi_offset 16, -8\n"
	"	add $8, %rsp\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".type by_expression, @function\n"
	"by_expression:\n"
	"	.cfi_startproc\n"
	"	sub $24, %rsp\n"
	"	.cfi_escape 0x0f, 3, 0x77, 0x20, 0x96\n" /* rsp + 32; nop */
	"	lea 1f(%rip), %rax\n"
	"	mov %rax, (%rsp)\n"
	"	mov %rax, 8(%rsp)\n"
	"	mov %rax, 16(%rsp)\n"
	"	call *%rdi\n"
	"1:\n"
	"	add $24, %rsp\n"
	"	.cfi_def_cfa rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n");

FIXTURE(fallback)
{
};

FIXTURE_VARIANT(fallback)
{
	int (*function)(int (*call)(void));
};

FIXTURE_VARIANT_ADD(fallback, by_rbx)
{
	.function = by_rbx,
};
FIXTURE_VARIANT_ADD(fallback, by_moved_address)
{
	.function = by_moved_address,
};
FIXTURE_VARIANT_ADD(fallback, by_expression)
{
	.function = by_expression,
};

FIXTURE_SETUP(fallback)
{
}

FIXTURE_TEARDOWN(fallback)
{
}

TEST_F(fallback, complete_unwinder)
{
	complete_walks = 0;
	EXPECT_EQ(2, variant->function(probe_and_return));
	EXPECT_SAME(5);
	EXPECT_EQ(2, complete_walks);
}

TEST_HARNESS_MAIN
