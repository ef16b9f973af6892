// SPDX-License-Identifier: GPL-2.0
// The shim's call stacks match those of a complete unwinder, frame by frame, starting at the caller of the allocation
// function.

#include <alloca.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

#include "kselftest_harness.h"
#include "preload/core/libc.h"
#include "preload/stack/cfi.h"
#include "preload/stack/eh_frame.h"
#include "selftests/lib/stack_walks.h"

static FRAME int recurse(int n)
{
	volatile char pad[24];

	pad[0] = (char)n;
	return (n ? recurse(n - 1) : walks_probe()) + pad[0];
}

TEST(recursion)
{
	recurse(60);
	EXPECT_SAME(63);
	EXPECT_EQ(0, walks.complete_steps);
	recurse(3);
	EXPECT_SAME(6);
}

TEST(depth_limits)
{
	static const uint32_t limits[] = { 1, 2, 80, 255, 256 };
	static const uint32_t beyond[] = { MF_DEPTH_MAX + 1, 10 * MF_DEPTH_MAX, 100000 };

	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		walks.depth = limits[i];
		recurse(400);
		EXPECT_EQ(limits[i], walks.compared.n_ours);
		EXPECT_SAME(400);
	}
	/* A depth above the maximum is reduced to the maximum. */
	for (size_t i = 0; i < sizeof(beyond) / sizeof(*beyond); i++) {
		walks.depth = beyond[i];
		recurse(400);
		EXPECT_EQ(MF_DEPTH_MAX, walks.compared.n_ours);
		EXPECT_EQ(0, memcmp(walks.compared.ours, walks.compared.theirs, MF_DEPTH_MAX * sizeof(uint64_t)));
	}
}

static FRAME int compare_integers(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return walks_probe() - 1 + (*x > *y) - (*x < *y);
}

/* Walks through functions of the C library that call back into the program. */
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
	walks_in_handler = true;
	handled += walks_probe();
	walks_in_handler = false;
	wrong_in_handler += walks_difference(&walks.compared) >= 0;
}

static void on_illegal(int number, siginfo_t *info, void *data)
{
	ucontext_t *context = data;

	walks_in_handler = true;
	handled += walks_probe();
	walks_in_handler = false;
	wrong_in_handler += walks_difference(&walks.compared) >= 0;
	context->uc_mcontext.gregs[REG_RIP] += 2; /* continue after ud2, which raised the signal */
}

int at_start(void);
int in_leaf(void);

/*
 * Signals at a function's first instruction, in a leaf function between two changes of the stack, and after the
 * leaf has restored rbp while its saved slot contains something else.
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

/* A function whose frame can only be found with the value of rbp. */
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
	EXPECT_EQ(0, walks.complete_steps);
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
	EXPECT_EQ(0, walks.complete_steps);
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

/*
 * Signals at arbitrary instructions, including prologues and epilogues. Each is asked for after the one before has been
 * handled: a periodic timer leaves no time for busy() on a machine whose handler takes longer than the period.
 */
TEST(interrupted_anywhere)
{
	catch(SIGALRM, SA_RESTART);
	for (int asked = 0; asked < 3000; asked++) {
		struct itimerval once = { .it_value.tv_usec = 50 + asked * 37 % 101 };
		int before = handled;

		setitimer(ITIMER_REAL, &once, NULL);
		for (uint32_t i = 0; handled == before; i++)
			busy((int)(i % 8));
	}
	EXPECT_EQ(3000, handled);
	EXPECT_EQ(0, wrong_in_handler);
	EXPECT_EQ(0, walks.wrong_after_another);
	EXPECT_EQ(0, walks.wrong_in_memo);
}

static FRAME int aligned(int n)
{
	alignas(64) volatile char line[64];

	line[0] = (char)n;
	return (n ? aligned(n - 1) : walks_probe()) + line[0];
}

static FRAME int aligned_and_variable(int n)
{
	alignas(128) volatile char line[128];
	volatile char *room = alloca((size_t)n * 24 + 1);

	line[0] = room[0] = (char)n;
	return (n ? aligned_and_variable(n - 1) : walks_probe()) + line[0] + room[0];
}

static FRAME __attribute__((force_align_arg_pointer)) int realigned(int n)
{
	volatile int value = n;

	return (n ? realigned(n - 1) : walks_probe()) + value;
}

typedef int vector __attribute__((vector_size(32)));

static FRAME __attribute__((target("avx2"))) int with_vectors(int n)
{
	volatile vector value = { n, n, n, n, n, n, n, n };

	return (n ? with_vectors(n - 1) : walks_probe()) + value[0];
}

TEST(realigned_stacks)
{
	aligned(5);
	EXPECT_SAME(9);
	aligned_and_variable(5);
	EXPECT_SAME(9);
	realigned(5);
	EXPECT_SAME(9);
	EXPECT_EQ(0, walks.complete_steps);
	if (!__builtin_cpu_supports("avx2"))
		SKIP(return, "this processor has no AVX2");
	with_vectors(5);
	EXPECT_SAME(9);
	EXPECT_EQ(0, walks.complete_steps);
}

#ifdef __x86_64__

/*
 * A function modelled on one in SBCL's runtime: it sets up a frame for its callee, links that frame to its own, and has
 * an unwind rule that uses the link.
 */
int linked(int (*callee)(int), int n);

__asm__(".text\n"
	".type linked, @function\n"
	"linked:\n"
	".cfi_startproc\n"
	"	push	%rbp\n"
	"	mov	%rsp, %rbp\n"
	".cfi_def_cfa rbp, 16\n"
	".cfi_offset rbp, -16\n"
	"	sub	$48, %rsp\n"
	"	push	%rbp\n"
	"	push	%rbp\n"
	"	mov	%rsp, %rbp\n"
	/* DW_CFA_def_cfa_expression: breg6 0, deref, lit16, plus; so the CFA is the word at %rbp, plus 16 */
	".cfi_escape 0x0f, 5, 0x76, 0, 0x06, 0x40, 0x22\n"
	"	mov	%rdi, %rax\n"
	"	mov	%esi, %edi\n"
	"	call	*%rax\n"
	"	leave\n"
	".cfi_def_cfa rbp, 16\n"
	"	leave\n"
	".cfi_def_cfa rsp, 8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size linked, . - linked\n");

static FRAME int call_linked(int n)
{
	return (n ? linked(call_linked, n - 1) : walks_probe()) + n;
}

TEST(linked_frames)
{
	call_linked(5);
	EXPECT_SAME(14);
	EXPECT_EQ(0, walks.complete_steps);
}

#endif

static FRAME int variable(int n)
{
	volatile char array[n * 8 + 1];
	volatile char *room = alloca((size_t)n + 1);

	array[n] = room[n] = 1;
	return (n ? variable(n - 1) : walks_probe()) + array[n] + room[n];
}

TEST(variable_frames)
{
	variable(20);
	EXPECT_SAME(24);
	EXPECT_EQ(0, walks.complete_steps);
}

static jmp_buf escape;

static FRAME __attribute__((noreturn)) void never_returns(void)
{
	walks_probe();
	longjmp(escape, 1);
}

/* The call is the function's last instruction, so the return address belongs to another function. */
static FRAME void ends_in_call(void)
{
	never_returns();
}

TEST(noreturn_call_at_the_end)
{
	if (!setjmp(escape))
		ends_in_call();
	EXPECT_SAME(5);
	EXPECT_EQ(0, walks.complete_steps);
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
	EXPECT_SAME(9); /* the frames of a thread include start_thread and clone3 */
	EXPECT_EQ(0, walks.complete_steps);
}

static struct walks_comparison before_main;

static __attribute__((constructor)) void construct(void)
{
	recurse(2);
	before_main = walks.compared;
}

TEST(constructor)
{
	EXPECT_LE(6, before_main.n_theirs);
	EXPECT_EQ(-1, walks_difference(&before_main));
}

static void run_coroutine(void)
{
	recurse(5);
}

TEST(coroutine)
{
	size_t size = 1 << 18;
	char *stack = malloc(size);

	walks_call_on(stack, size, run_coroutine);
	EXPECT_SAME(7);
	free(stack);
}

/* A library is mapped at the address of one that was unmapped; the code there now has a frame of a different size. */
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
		EXPECT_EQ(2, call_back(walks_probe));
		EXPECT_SAME(5);
		dlclose(handle);
		walks_forget();
	}
	EXPECT_EQ(0, walks.complete_steps);
}

static int announce(struct dl_phdr_info *object, size_t size, void *data)
{
	uint64_t start = UINT64_MAX, end = 0;

	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		uint64_t at = object->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD)
			continue;
		start = at < start ? at : start;
		end = at + segment->p_memsz > end ? at + segment->p_memsz : end;
	}
	mf_eh_frame_arrived(object, start, end, true);
	return 0;
}

/* glibc before 2.35 has no _dl_find_object(): the tables of all objects are noted when they are loaded. */
TEST(without_find_object)
{
	struct mf_cfi_rule rule;

	mf_libc_has_find_object = false;
	EXPECT_FALSE(mf_cfi_find((uintptr_t)qsort, &rule));
	dl_iterate_phdr(announce, NULL);
	EXPECT_TRUE(mf_cfi_find((uintptr_t)qsort, &rule));
	recurse(60);
	EXPECT_SAME(63);
	EXPECT_EQ(0, walks.complete_steps);
	EXPECT_FALSE(mf_cfi_find((uintptr_t)malloc(1), &rule));
}

static FRAME int probe_and_return(void)
{
	return walks_probe() + 1;
}

/* Code without unwind tables: only the caller is found, but nothing crashes. */
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
		EXPECT_LE(1, walks.compared.n_ours);
		EXPECT_EQ(walks.compared.caller, walks.compared.ours[0]);
		/*
		 * The code without unwind tables calls walks_probe() directly, so the caller of the walk has no unwind
		 * tables.
		 */
		EXPECT_EQ(1, function(walks_probe));
		EXPECT_LE(1, walks.compared.n_ours);
		EXPECT_EQ(walks.compared.caller, walks.compared.ours[0]);
		munmap(code, 4096);
	}
}

int by_rbx(int (*function)(void));
int by_moved_address(int (*function)(void));
int by_expression(int (*function)(void));

/*
 * Unwind rules whose registers, locations or expressions the shim's compact form cannot express. The last function
 * fills its frame with what look like return addresses.
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
	"	.cfi_escape 0x0f, 3, 0x77, 0x20, 0x96\n" /* DW_CFA_def_cfa_expression: rsp + 32; nop */
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
	walks.complete_steps = 0;
	EXPECT_EQ(2, variant->function(probe_and_return));
	EXPECT_SAME(5);
	EXPECT_EQ(2, walks.complete_steps);
}

TEST_HARNESS_MAIN
