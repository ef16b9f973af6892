// SPDX-License-Identifier: GPL-2.0
// Allocates in functions called by code without unwind tables, like that of a JIT. This code has a frame pointer, and
// stores a second copy of it in its frame, next to a word that is not a return address. The call stack is the same
// each time.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FRAME __attribute__((noipa, optimize("no-optimize-sibling-calls")))
#define BLOCKS 1000

typedef int made(int (*function)(int), int n, const void *word);

/*
 * push %rbp; mov %rsp,%rbp; sub $64,%rsp; push %rdx; push %rbp; mov %rsp,%rbp; mov %rdi,%rax; mov %esi,%edi;
 * call *%rax; pop %rbp; pop %rdx; leave; ret
 */
static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x40, 0x52, 0x55, 0x48, 0x89, 0xe5,
				0x48, 0x89, 0xf8, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0x5a, 0xc9, 0xc3 };

static void *blocks[BLOCKS];

static FRAME int allocate(int n)
{
	blocks[n] = malloc(1000);
	return !blocks[n];
}

/* Has a large frame and no frame pointer. With a wrong CFA, the unwinder does not find a return address. */
static FRAME int aside(int n)
{
	volatile char room[200];

	room[0] = 0;
	return allocate(n) + room[0];
}

static FRAME int call_made(made *function, int n, const void *word)
{
	return function(aside, n, word) + 1;
}

int main(void)
{
	void *place = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *unmapped = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int sum = 0;

	if (place == MAP_FAILED || unmapped == MAP_FAILED)
		return 1;
	memcpy(place, code, sizeof(code));
	for (int i = 0; i < BLOCKS; i++) {
		/*
		 * Words that are not return addresses: addresses of data, of code without a call before it, and of
		 * unmapped memory.
		 */
		const void *words[] = { i ? blocks[i - 1] : main, main, code, "text", &sum, (char *)place + 2,
					(char *)unmapped + 4096, (void *)1, (void *)0x1000, (void *)-1,
					(void *)((uintptr_t)1 << 63) };

		sum += call_made((made *)place, i, words[i % (sizeof(words) / sizeof(*words))]);
	}
	/* Free a block: massif checks for a peak before the total decreases. */
	free(blocks[0]);
	return sum != BLOCKS;
}
