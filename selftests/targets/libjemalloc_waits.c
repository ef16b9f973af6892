// SPDX-License-Identifier: GPL-2.0
// An allocator whose functions wait as long as a program wants. massif-ctl takes it for jemalloc by its name.

#include <stddef.h>
#include <time.h>

volatile int waits_now;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);

static void wait_here(void)
{
	while (waits_now)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

void *malloc(size_t size)
{
	wait_here();
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	wait_here();
	return __libc_calloc(n, size);
}

void *realloc(void *block, size_t size)
{
	wait_here();
	return __libc_realloc(block, size);
}

void free(void *block)
{
	wait_here();
	__libc_free(block);
}
