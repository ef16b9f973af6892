// SPDX-License-Identifier: GPL-2.0
// Calls its own malloc when only 1 KiB of stack is left, as code compiled with gcc -fsplit-stack does. Prints how many
// bytes below the stack were overwritten.

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "own_allocator.h"

enum { BELOW = 64 << 10, LEFT = 1 << 10, PATTERN = 0x5a };

static unsigned char memory[BELOW + LEFT] __attribute__((aligned(64)));

static __attribute__((noinline)) void allocate(void)
{
	for (size_t i = 0; i < 50; i++)
		*(volatile char *)malloc(1000 + i) = 1;
}

int main(void)
{
	uint64_t limit = (uintptr_t)memory + BELOW, top = limit + LEFT;
	char line[80];
	size_t whole = 0;
	int n;

	allocate(); /* the dynamic linker looks up a function when it is first called, and needs more stack for that */
	memset(memory, PATTERN, sizeof(memory));
	__asm__ volatile("mov	%%rsp, %%rbx\n"
			 "	mov	%0, %%fs:0x70\n" /* where gcc's split-stack code keeps its stack limit */
			 "	mov	%1, %%rsp\n"
			 "	call	*%2\n"
			 "	mov	%%rbx, %%rsp\n"
			 "	movq	$0, %%fs:0x70\n"
			 :
			 : "r"(limit), "r"(top), "r"(allocate)
			 : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
	while (whole < BELOW && memory[whole] == PATTERN)
		whole++;
	n = snprintf(line, sizeof(line), "%zu\n", BELOW - whole);
	return write(STDOUT_FILENO, line, (size_t)n) != n;
}
