// SPDX-License-Identifier: GPL-2.0
// Functions with all kinds of first instructions are redirected, and the originals can still be called.

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "kselftest_harness.h"

#include "preload/patch/code_detour.h"
#include "preload/patch/patch.h"

/*
 * Defines a function with two integer arguments. It is written in assembly, so that its first instructions are fixed.
 */
#define FUNCTION(name, ...)                                  \
	long name(long a, long b);                           \
	extern const char name##_end[];                      \
	__asm__(".text\n.p2align 4\n"                        \
		".globl " #name "\n.type " #name ", @function\n" #name ":\n" __VA_ARGS__ "\n" \
		".globl " #name "_end\n" #name "_end:\n.p2align 4, 0x90\n")

__asm__(".data\n.globl detour_word\ndetour_word: .quad 1000\n"
	".globl detour_way\ndetour_way: .quad detour_helper\n.text");

long detour_helper(long a, long b);

long detour_helper(long a, long b)
{
	/* Unwinding from here must find this function, not a moved copy of it. */
	return (long)__builtin_return_address(0) * 0 + a * b;
}

FUNCTION(plain, "push %rbx\nmov %rdi, %rbx\nlea (%rbx,%rsi), %rax\npop %rbx\nret");
FUNCTION(reads_data, "mov detour_word(%rip), %rax\nadd %rdi, %rax\nadd %rsi, %rax\nret");
FUNCTION(compares_data, "cmpl $1000, detour_word(%rip)\njne 1f\nlea (%rdi,%rsi), %rax\nret\n"
			"1: xor %eax, %eax\nret");
FUNCTION(branches, "test %rdi, %rdi\nje 1f\nlea (%rdi,%rsi), %rax\nret\n1: mov $-1, %rax\nret");
FUNCTION(branches_far, "test %dil, %dil\n.byte 0x0f, 0x84\n.long 1f - . - 4\nlea (%rdi,%rsi), %rax\n"
		       "ret\n1: mov $-1, %rax\nret");
FUNCTION(calls, "sub $8, %rsp\ncall detour_helper\nadd $8, %rsp\nret");
FUNCTION(calls_at_once, "call 1f\nadd $1, %rax\nret\n1: lea (%rdi,%rsi), %rax\nret");
FUNCTION(calls_by_word, "sub $8, %rsp\ncall *detour_way(%rip)\nadd $8, %rsp\nret");
FUNCTION(jumps, "jmp detour_helper");
FUNCTION(jumps_shortly, "jmp 1f\nud2\nud2\n1: lea (%rdi,%rsi), %rax\nret");
FUNCTION(jumps_by_word, "jmp *detour_way(%rip)");
FUNCTION(returns, "ret");
FUNCTION(returns_after_landing, "endbr64\nlea (%rdi,%rsi), %rax\nret");
FUNCTION(calls_itself, "test %rdi, %rdi\njne 1f\nmov %rsi, %rax\nret\n"
		       "1: dec %rdi\ncall calls_itself\ninc %rax\nret");
FUNCTION(loops, "xor %eax, %eax\n1: inc %rax\ndec %rdi\njne 1b\nadd %rsi, %rax\nret");
FUNCTION(loops_whole, "1: mov %rdi, %rax\nsub $1, %rdi\njns 1b\nret");
FUNCTION(counts_down, "mov %rdi, %rcx\njrcxz 1f\nlea (%rdi,%rsi), %rax\nret\n1: mov %rsi, %rax\nret");
FUNCTION(unreadable, "push %rbx\nmov %rdi, %rbx\n.byte 0x06\npop %rbx\nret");
__asm__(".text\n.p2align 4\n.globl crowded\n.type crowded, @function\ncrowded: ret\n"
	".globl crowded_end\ncrowded_end:\nxor %eax, %eax\nret\n");
long crowded(long a, long b);
extern const char crowded_end[];

struct seen {
	unsigned int calls;
	struct mf_code_detour detour;
};

typedef long function(long a, long b);

long hook(long a, long b, long c, struct seen *seen);
void hook_entry(void);

/* Redirected calls arrive here, after the detour has pushed rbp and an argument. */
__asm__(".text\n.globl hook_entry\n.type hook_entry, @function\nhook_entry:\n"
	"pop %rcx\npop %rbp\njmp hook\n");

long hook(long a, long b, long c, struct seen *seen)
{
	if (!seen->calls++)
		return 3 * ((function *)(uintptr_t)seen->detour.original)(a, b);
	return ((function *)(uintptr_t)seen->detour.original)(a, b);
}

FIXTURE(detour) {
	int nothing;
};

FIXTURE_SETUP(detour)
{
}

FIXTURE_TEARDOWN(detour)
{
}

FIXTURE_VARIANT(detour) {
	function *site;
	const char *end;
	int code;
	/*
	 * how many times the function runs when the test calls it once: more than once if it calls itself; 0 means once
	 */
	unsigned int calls;
};

#define BEGINS(name, ...) \
	FIXTURE_VARIANT_ADD(detour, name) { .site = name, .end = name##_end, ##__VA_ARGS__ }

BEGINS(plain);
BEGINS(reads_data);
BEGINS(compares_data);
BEGINS(branches);
BEGINS(branches_far);
BEGINS(calls);
BEGINS(calls_at_once);
BEGINS(calls_by_word);
BEGINS(jumps);
BEGINS(jumps_shortly);
BEGINS(jumps_by_word);
BEGINS(returns);
BEGINS(returns_after_landing);
BEGINS(calls_itself, .calls = 6);
BEGINS(loops, .code = -ENOEXEC);
BEGINS(loops_whole, .code = -ENOEXEC);
BEGINS(counts_down, .code = -ENOEXEC);
BEGINS(unreadable, .code = -ENOEXEC);
BEGINS(crowded, .code = -ENOEXEC);

TEST_F(detour, stays_itself)
{
	static struct seen seen;
	size_t size = (size_t)(variant->end - (const char *)(uintptr_t)variant->site);
	long (*volatile call)(long, long) = variant->site;
	long alone = 0, led;
	uint8_t before[MF_PATCH_BYTES];

	if (variant->code == -ENOEXEC) {
		memcpy(before, (const void *)(uintptr_t)variant->site, sizeof(before));
		EXPECT_EQ(variant->code, mf_code_detour_prepare(&seen.detour, (void *)(uintptr_t)variant->site,
							   size, (const void *)hook_entry, &seen));
		EXPECT_EQ(0, memcmp(before, (const void *)(uintptr_t)variant->site, sizeof(before)));
		return;
	}
	/* A function that consists of only a return instruction sets no result, so do not compare its result. */
	if (variant->site != returns)
		alone = call(5, 7);
	ASSERT_EQ(0, mf_code_detour_prepare(&seen.detour, (void *)(uintptr_t)variant->site, size,
				       (const void *)hook_entry, &seen));
	ASSERT_EQ(0, mf_patch_seal());
	EXPECT_FALSE(mf_code_detour_is_placed(&seen.detour));
	EXPECT_TRUE(mf_code_detour_fits(&seen.detour, size));
	ASSERT_EQ(0, mf_code_detour_place(&seen.detour));
	EXPECT_TRUE(mf_code_detour_is_placed(&seen.detour));
	EXPECT_FALSE(mf_code_detour_fits(&seen.detour, size));
	led = call(5, 7);
	EXPECT_EQ(variant->calls ? variant->calls : 1, seen.calls);
	if (variant->site != returns)
		EXPECT_EQ(3 * alone, led);
	/* If the first argument is 0, branches() and branches_far() take the branch that returns -1. */
	if (variant->site == branches || variant->site == branches_far)
		EXPECT_EQ(-1, call(0, 7));
}

TEST(replaced)
{
	static struct seen seen;
	long (*volatile call)(long, long) = plain;

	seen.detour.original = (void *)(uintptr_t)detour_helper;
	ASSERT_EQ(0, mf_code_detour_replace(&seen.detour, (void *)(uintptr_t)plain, (const void *)hook_entry, &seen));
	seen.detour.original = (void *)(uintptr_t)detour_helper;
	ASSERT_EQ(0, mf_patch_seal());
	ASSERT_EQ(0, mf_code_detour_place(&seen.detour));
	EXPECT_EQ(105, call(5, 7));
}

TEST_HARNESS_MAIN
