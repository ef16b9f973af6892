// SPDX-License-Identifier: GPL-2.0
// own_registers [ROUNDS [SEED [thread]]]: the program's allocation functions are written in assembly and change only
// the result register. Each is called with random contents in all registers and with an arbitrarily aligned stack, and
// must preserve the registers. With a second thread ("thread"), the shim counts events in a different code path.

#include <cpuid.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Blocks are allocated consecutively from an arena of this size, and never reused. */
#define ARENA (256ul << 20)

static unsigned char arena[ARENA] __attribute__((aligned(64)));
unsigned char *own_next = arena;
uint64_t own_freed;

#define FUNCTION(name, ...)                                                              \
	__asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ", @function\n" #name ":\n" \
		__VA_ARGS__ "\n.size " #name ", . - " #name "\n")

/* Allocates as many bytes as rax contains. */
#define GIVE "add $15, %rax\nand $-16, %rax\nxadd %rax, own_next(%rip)\nret"
#define FREE "incq own_freed(%rip)\nret"

FUNCTION(malloc, "lea (%rdi), %rax\n" GIVE);
/*
 * calloc, realloc and reallocarray call other functions and continue afterwards. All other functions either call none
 * or do so only as a tail call.
 */
FUNCTION(calloc, "push %rdi\nimul %rsi, %rdi\ncall malloc\npop %rdi\nret");
FUNCTION(realloc, "push %rdi\nmov %rsi, %rdi\ncall malloc\npop %rdi\ncall free\nret");
FUNCTION(reallocarray, "push %rsi\nimul %rdx, %rsi\ncall realloc\npop %rsi\nret");
FUNCTION(memalign, "lea 15(%rsi), %rax\nand $-16, %rax\nxadd %rax, own_next(%rip)\nret");
FUNCTION(aligned_alloc, ".nops 5\njmp memalign");
FUNCTION(posix_memalign, "lea 15(%rdx), %rax\nand $-16, %rax\nxadd %rax, own_next(%rip)\nmov %rax, (%rdi)\n"
			 "mov $0, %eax\nret");
FUNCTION(valloc, "lea (%rdi), %rax\n" GIVE);
FUNCTION(pvalloc, "lea (%rdi), %rax\n" GIVE);
FUNCTION(free, FREE);
FUNCTION(cfree, ".nops 5\njmp free");
FUNCTION(free_sized, FREE);
FUNCTION(free_aligned_sized, FREE);
FUNCTION(_Znwm, ".nops 5\njmp malloc");
FUNCTION(_Znam, ".nops 5\njmp _Znwm");
FUNCTION(_ZnwmRKSt9nothrow_t, "lea (%rdi), %rax\n" GIVE);
FUNCTION(_ZnamRKSt9nothrow_t, "lea (%rdi), %rax\n" GIVE);
FUNCTION(_ZnwmSt11align_val_t, "lea (%rdi), %rax\n" GIVE);
FUNCTION(_ZnamSt11align_val_t, "lea (%rdi), %rax\n" GIVE);
FUNCTION(_ZnwmSt11align_val_tRKSt9nothrow_t, "lea (%rdi), %rax\n" GIVE);
FUNCTION(_ZnamSt11align_val_tRKSt9nothrow_t, "lea (%rdi), %rax\n" GIVE);
FUNCTION(_ZdlPv, ".nops 5\njmp free");
FUNCTION(_ZdaPv, FREE);
FUNCTION(_ZdlPvm, FREE);
FUNCTION(_ZdaPvm, FREE);
FUNCTION(_ZdlPvRKSt9nothrow_t, FREE);
FUNCTION(_ZdaPvRKSt9nothrow_t, FREE);
FUNCTION(_ZdlPvSt11align_val_t, FREE);
FUNCTION(_ZdaPvSt11align_val_t, FREE);
FUNCTION(_ZdlPvmSt11align_val_t, FREE);
FUNCTION(_ZdaPvmSt11align_val_t, FREE);
FUNCTION(_ZdlPvSt11align_val_tRKSt9nothrow_t, FREE);
FUNCTION(_ZdaPvSt11align_val_tRKSt9nothrow_t, FREE);

/* The meaning of the first few arguments of an allocation function. All other arguments are random. */
enum kind { SIZE, ELEMENTS, RESIZE, RESIZE_ELEMENTS, ALIGNMENT_SIZE, RESULT, BLOCK };

#define F(name, kind)                            \
	{                                        \
		#name, (void *)name, kind        \
	}
#define DECLARE(name) void name(void)

DECLARE(cfree);
DECLARE(free_sized);
DECLARE(free_aligned_sized);
DECLARE(pvalloc);
DECLARE(memalign);
DECLARE(_Znwm);
DECLARE(_Znam);
DECLARE(_ZnwmRKSt9nothrow_t);
DECLARE(_ZnamRKSt9nothrow_t);
DECLARE(_ZnwmSt11align_val_t);
DECLARE(_ZnamSt11align_val_t);
DECLARE(_ZnwmSt11align_val_tRKSt9nothrow_t);
DECLARE(_ZnamSt11align_val_tRKSt9nothrow_t);
DECLARE(_ZdlPv);
DECLARE(_ZdaPv);
DECLARE(_ZdlPvm);
DECLARE(_ZdaPvm);
DECLARE(_ZdlPvRKSt9nothrow_t);
DECLARE(_ZdaPvRKSt9nothrow_t);
DECLARE(_ZdlPvSt11align_val_t);
DECLARE(_ZdaPvSt11align_val_t);
DECLARE(_ZdlPvmSt11align_val_t);
DECLARE(_ZdaPvmSt11align_val_t);
DECLARE(_ZdlPvSt11align_val_tRKSt9nothrow_t);
DECLARE(_ZdaPvSt11align_val_tRKSt9nothrow_t);

static const struct function {
	const char *name;
	void *address;
	enum kind kind;
} functions[] = {
	F(malloc, SIZE),
	F(calloc, ELEMENTS),
	F(realloc, RESIZE),
	F(reallocarray, RESIZE_ELEMENTS),
	F(memalign, ALIGNMENT_SIZE),
	F(aligned_alloc, ALIGNMENT_SIZE),
	F(posix_memalign, RESULT),
	F(valloc, SIZE),
	F(pvalloc, SIZE),
	F(_Znwm, SIZE),
	F(_Znam, SIZE),
	F(_ZnwmRKSt9nothrow_t, SIZE),
	F(_ZnamRKSt9nothrow_t, SIZE),
	F(_ZnwmSt11align_val_t, SIZE),
	F(_ZnamSt11align_val_t, SIZE),
	F(_ZnwmSt11align_val_tRKSt9nothrow_t, SIZE),
	F(_ZnamSt11align_val_tRKSt9nothrow_t, SIZE),
	F(free, BLOCK),
	F(cfree, BLOCK),
	F(free_sized, BLOCK),
	F(free_aligned_sized, BLOCK),
	F(_ZdlPv, BLOCK),
	F(_ZdaPv, BLOCK),
	F(_ZdlPvm, BLOCK),
	F(_ZdaPvm, BLOCK),
	F(_ZdlPvRKSt9nothrow_t, BLOCK),
	F(_ZdaPvRKSt9nothrow_t, BLOCK),
	F(_ZdlPvSt11align_val_t, BLOCK),
	F(_ZdaPvSt11align_val_t, BLOCK),
	F(_ZdlPvmSt11align_val_t, BLOCK),
	F(_ZdaPvmSt11align_val_t, BLOCK),
	F(_ZdlPvSt11align_val_tRKSt9nothrow_t, BLOCK),
	F(_ZdaPvSt11align_val_tRKSt9nothrow_t, BLOCK),
};

#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* General registers, in the order in which probe() stores them. */
enum { RAX, RBX, RCX, RDX, RSI, RDI, RBP, R8, R9, R10, R11, R12, R13, R14, R15, REGISTERS };

static const char *const names[] = { "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "r8",
				     "r9",  "r10", "r11", "r12", "r13", "r14", "r15" };

#define STATE_MAX 16384u
#define X87	  1u /* component bits of the extended state */
#define SSE	  2u

uint64_t probe_in[REGISTERS], probe_out[REGISTERS];
uint64_t probe_flags_in, probe_flags_out;
uint64_t probe_sp, probe_own_sp;
void *probe_function;
uint64_t probe_mask; /* components of the extended state that this processor has */
unsigned char probe_state_in[STATE_MAX] __attribute__((aligned(64)));
unsigned char probe_state_out[STATE_MAX] __attribute__((aligned(64)));
static unsigned char own_state[STATE_MAX] __attribute__((aligned(64)));
static unsigned char stack[65536] __attribute__((aligned(64)));

/* Calls probe_function with the requested registers and stack pointer. */
void probe(void);
__asm__(".text\n.globl probe\n.type probe, @function\nprobe:\n"
	".cfi_startproc\n"
	"push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_offset rbx, -16\n"
	"push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_offset rbp, -24\n"
	"push %r12\n.cfi_adjust_cfa_offset 8\n.cfi_offset r12, -32\n"
	"push %r13\n.cfi_adjust_cfa_offset 8\n.cfi_offset r13, -40\n"
	"push %r14\n.cfi_adjust_cfa_offset 8\n.cfi_offset r14, -48\n"
	"push %r15\n.cfi_adjust_cfa_offset 8\n.cfi_offset r15, -56\n"
	"mov %rsp, probe_own_sp(%rip)\n"
	"mov probe_mask(%rip), %eax\nxor %edx, %edx\n"
	"xrstor64 probe_state_in(%rip)\n"
	"mov probe_sp(%rip), %rsp\n"
	/* From here on, rsp is on a different stack. */
	".cfi_remember_state\n.cfi_undefined rip\n"
	"push probe_flags_in(%rip)\n"
	"mov probe_in(%rip), %rax\n"
	"mov probe_in+8(%rip), %rbx\nmov probe_in+16(%rip), %rcx\nmov probe_in+24(%rip), %rdx\n"
	"mov probe_in+32(%rip), %rsi\nmov probe_in+40(%rip), %rdi\nmov probe_in+48(%rip), %rbp\n"
	"mov probe_in+56(%rip), %r8\nmov probe_in+64(%rip), %r9\nmov probe_in+72(%rip), %r10\n"
	"mov probe_in+80(%rip), %r11\nmov probe_in+88(%rip), %r12\nmov probe_in+96(%rip), %r13\n"
	"mov probe_in+104(%rip), %r14\nmov probe_in+112(%rip), %r15\n"
	"popfq\n"
	"call *probe_function(%rip)\n"
	"mov %rax, probe_out(%rip)\n"
	"mov %rbx, probe_out+8(%rip)\nmov %rcx, probe_out+16(%rip)\nmov %rdx, probe_out+24(%rip)\n"
	"mov %rsi, probe_out+32(%rip)\nmov %rdi, probe_out+40(%rip)\nmov %rbp, probe_out+48(%rip)\n"
	"mov %r8, probe_out+56(%rip)\nmov %r9, probe_out+64(%rip)\nmov %r10, probe_out+72(%rip)\n"
	"mov %r11, probe_out+80(%rip)\nmov %r12, probe_out+88(%rip)\nmov %r13, probe_out+96(%rip)\n"
	"mov %r14, probe_out+104(%rip)\nmov %r15, probe_out+112(%rip)\n"
	"pushfq\npop probe_flags_out(%rip)\ncld\n"
	"mov %rsp, %rcx\nsub probe_sp(%rip), %rcx\nmov %rcx, probe_sp(%rip)\n"
	"mov probe_own_sp(%rip), %rsp\n"
	".cfi_restore_state\n"
	"mov probe_mask(%rip), %eax\nxor %edx, %edx\n"
	"xsave64 probe_state_out(%rip)\n"
	"mov probe_mask(%rip), %eax\nxor %edx, %edx\n"
	"xrstor64 own_state(%rip)\n"
	"pop %r15\n.cfi_adjust_cfa_offset -8\n.cfi_restore r15\n"
	"pop %r14\n.cfi_adjust_cfa_offset -8\n.cfi_restore r14\n"
	"pop %r13\n.cfi_adjust_cfa_offset -8\n.cfi_restore r13\n"
	"pop %r12\n.cfi_adjust_cfa_offset -8\n.cfi_restore r12\n"
	"pop %rbp\n.cfi_adjust_cfa_offset -8\n.cfi_restore rbp\n"
	"pop %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore rbx\n"
	"ret\n.cfi_endproc\n.size probe, . - probe\n");

static uint64_t seed = 1;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/*
 * Fills probe_state_in with random values for all registers, except for the parts of the x87 and SSE control words that
 * must stay valid.
 */
static void make_state(void)
{
	uint64_t header[8] = { probe_mask };
	uint32_t mxcsr;

	for (size_t i = 0; i < sizeof(probe_state_in); i += 8) {
		uint64_t word = any();

		memcpy(probe_state_in + i, &word, 8);
	}
	/*
	 * Leave the first 32 bytes, which contain the x87 control and status words and MXCSR, as they are, except for
	 * two fields: MXCSR gets a random rounding mode, random exception masks and a random flush-to-zero bit, and the
	 * x87 tag word marks all eight registers as in use.
	 */
	memcpy(probe_state_in, own_state, 32);
	mxcsr = (uint32_t)any() & 0xffbf & 0xffc0;
	memcpy(probe_state_in + 24, &mxcsr, sizeof(mxcsr));
	probe_state_in[4] = 0xff;
	for (size_t i = 0; i < 8; i++)
		memset(probe_state_in + 32 + 16 * i + 10, 0, 6);
	memcpy(probe_state_in + 512, header, sizeof(header));
}

static unsigned long wrong;

static void complain(const struct function *function, const char *what, uint64_t sp)
{
	if (wrong++ < 20)
		printf("%s, stack at %u: %s changed\n", function->name, (unsigned int)(sp % 64), what);
}

static int differs(size_t from, size_t size)
{
	return memcmp(probe_state_in + from, probe_state_out + from, size);
}

static void compare(const struct function *function, uint64_t sp)
{
	for (int i = RAX + 1; i < REGISTERS; i++)
		if (probe_in[i] != probe_out[i])
			complain(function, names[i], sp);
	if (function->kind == BLOCK && probe_in[RAX] != probe_out[RAX])
		complain(function, "rax", sp);
	if (probe_sp)
		complain(function, "rsp", sp);
	if ((probe_flags_in ^ probe_flags_out) & 0x400)
		complain(function, "the direction flag", sp);
	if (differs(24, 4))
		complain(function, "mxcsr", sp);
	if (differs(0, 2) || differs(4, 1) || differs(32, 128))
		complain(function, "the x87", sp);
	if (differs(160, 256))
		complain(function, "xmm", sp);
	for (unsigned int i = 2; i < 8; i++) {
		unsigned int size, offset, c, d;

		if (!(probe_mask >> i & 1))
			continue;
		__cpuid_count(13, i, size, offset, c, d);
		if (differs(offset, size))
			complain(function, i == 2 ? "ymm" : i == 5 ? "k" : "zmm", sp);
	}
}

static void call(const struct function *function, unsigned int offset)
{
	static void *last, *result;
	uint64_t sp = (uint64_t)(uintptr_t)(stack + sizeof(stack) - 256 - offset);

	for (int i = 0; i < REGISTERS; i++)
		probe_in[i] = any();
	make_state();
	switch (function->kind) {
	case SIZE:
		probe_in[RDI] = any() % 1000;
		break;
	case ELEMENTS:
		probe_in[RDI] = any() % 10;
		probe_in[RSI] = any() % 100;
		break;
	case RESIZE:
		probe_in[RDI] = (uintptr_t)(any() % 3 ? last : NULL);
		probe_in[RSI] = any() % 1000;
		break;
	case RESIZE_ELEMENTS:
		probe_in[RDI] = (uintptr_t)(any() % 3 ? last : NULL);
		probe_in[RSI] = any() % 10;
		probe_in[RDX] = any() % 100;
		break;
	case ALIGNMENT_SIZE:
		probe_in[RDI] = 16;
		probe_in[RSI] = any() % 1000;
		break;
	case RESULT:
		probe_in[RDI] = (uintptr_t)&result;
		probe_in[RSI] = 16;
		probe_in[RDX] = any() % 1000;
		break;
	case BLOCK:
		probe_in[RDI] = (uintptr_t)(any() % 5 ? last : NULL);
		break;
	}
	probe_function = function->address;
	probe_sp = sp;
	probe_flags_in = 0x202 | (any() & 0x8d5) | (any() & 0x400);
	probe();
	compare(function, sp);
	if (function->kind != BLOCK && function->kind != RESULT)
		last = (void *)(uintptr_t)probe_out[RAX];
}

static void *wait(void *data)
{
	for (;;)
		pause();
	return data;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 20, calls = 0;
	unsigned int a, b, c, d;

	if (argc > 2)
		seed = strtoul(argv[2], NULL, 0) | 1;
	if (argc > 3 && pthread_create(&thread, NULL, wait, NULL))
		return 1;
	__cpuid(1, a, b, c, d);
	if (!(c >> 27 & 1)) {
		puts("the processor has no XSAVE");
		return 77;
	}
	__asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	probe_mask = a & 0xe7;
	__asm__ volatile("xsave64 %0" : "+m"(own_state) : "a"((unsigned int)probe_mask), "d"(0));
	for (unsigned long round = 0; round < rounds; round++)
		for (size_t i = 0; i < FUNCTIONS; i++)
			for (unsigned int offset = 0; offset < 64; offset += 4, calls++)
				call(&functions[i], offset);
	printf("%lu calls, %lu registers changed\n", calls, wrong);
	return wrong != 0;
}
