// SPDX-License-Identifier: GPL-2.0
// A program whose malloc contains a loop back to its first instructions, so that no patch can be placed there.

#include <stdlib.h>

static _Alignas(16) unsigned char arena[1 << 20];
static unsigned char *volatile next = arena;

void *odd_allocate(size_t size);

void *odd_allocate(size_t size)
{
	unsigned char *block = next;

	next = block + ((size + 15) & ~(size_t)15);
	return block;
}

/* Rounds the size up to a multiple of 8 by repeated increments. */
__asm__(".text\n.p2align 4\n.globl malloc\n.type malloc, @function\n"
	"malloc: dec %rdi\n"
	"1: inc %rdi\n"
	"test $7, %dil\n"
	"jne 1b\n"
	"jmp odd_allocate\n"
	".size malloc, . - malloc\n");

void free(void *block)
{
	__asm__ volatile("" : : "r"(block));
}

int main(void)
{
	for (size_t i = 1; i < 10; i++) {
		void *block = malloc(i);

		if ((unsigned char *)block < arena || block > (void *)next)
			return 1;
		free(block);
	}
	return 0;
}
