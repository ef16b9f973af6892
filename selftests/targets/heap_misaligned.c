// SPDX-License-Identifier: GPL-2.0
// Calls the C library's allocation functions with a stack that is not aligned to 16 bytes, as code from old compilers,
// assembly code and some JITs do. glibc's fast paths tolerate that. With "thread", these calls are the first events of
// a thread.

#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Calls @function(@a, @b) with the stack pointer @offset bytes below a multiple of 64. */
static __attribute__((noipa)) void *call(void *function, uint64_t a, uint64_t b, uint64_t offset)
{
	void *result = function;

	__asm__ volatile("mov %%rsp, %%rbx\n"
			 "and $-64, %%rsp\n"
			 "sub $256, %%rsp\n"
			 "sub %3, %%rsp\n"
			 "call *%0\n"
			 "mov %%rbx, %%rsp"
			 : "+a"(result), "+D"(a), "+S"(b)
			 : "d"(offset)
			 : "rbx", "rcx", "r8", "r9", "r10", "r11", "memory", "cc");
	return result;
}

#define ALL_DEEP 12

/* Has a different call stack for each depth, so that each must be unwound. */
static __attribute__((noipa)) uint64_t at_depth(int depth, uint64_t offset)
{
	void *blocks[8];
	uint64_t sum;

	if (depth)
		return at_depth(depth - 1, offset) + 1;
	blocks[0] = call(malloc, 24, 0, offset);
	blocks[1] = call(malloc, 1000 + offset, 0, offset);
	blocks[2] = call(calloc, 3, 8, offset);
	blocks[3] = call(realloc, 0, 40, offset);
	blocks[4] = call(realloc, (uintptr_t)call(malloc, 40, 0, offset), 41, offset);
	blocks[5] = call(malloc, 0, 0, offset);
	sum = malloc_usable_size(blocks[0]) + malloc_usable_size(blocks[1]);
	for (int i = 0; i < 6; i++)
		call(free, (uintptr_t)blocks[i], 0, offset);
	call(free, 0, 0, offset);
	return sum;
}

static void *run(void *data)
{
	uint64_t *sum = data;

	for (uint64_t offset = 0; offset < 64; offset += 4)
		for (int depth = 0; depth < ALL_DEEP; depth++)
			*sum += at_depth(depth, offset);
	return NULL;
}

/* Frees enough blocks of each size that glibc takes only its fast paths from then on. */
static void warm(void)
{
	void *blocks[100];

	for (size_t size = 8; size < 2000; size += 16) {
		for (int i = 0; i < 7; i++)
			blocks[i] = malloc(size);
		for (int i = 0; i < 7; i++)
			free(blocks[i]);
	}
}


int main(int argc, char **argv)
{
	uint64_t sum = 0;
	pthread_t thread;

	warm();
	run(&sum);
	if (argc > 1 && !strcmp(argv[1], "thread")) {
		if (pthread_create(&thread, NULL, run, &sum) || pthread_join(thread, NULL))
			return 1;
	}
	printf("%lu\n", (unsigned long)sum);
	return 0;
}
