// SPDX-License-Identifier: GPL-2.0
// Logs each allocator call. Loaded between the shim and the C library's allocator.

#include <stddef.h>
#include <sys/mman.h>

#include "../lib/heap_log.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void __libc_free(void *block);

static struct heap_log *book;
static __thread uint32_t site __attribute__((tls_model("initial-exec")));
static __thread uint32_t thread __attribute__((tls_model("initial-exec")));

static void note(uint32_t what, uint32_t where, const void *block, size_t size)
{
	static uint32_t threads;
	struct heap_log_record *record;

	/* The first allocator call is made before any constructor runs, when there is only one thread. */
	if (!book)
		book = mmap(NULL, HEAP_LOG_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, HEAP_LOG_FD, 0);
	if (!thread)
		thread = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
	record = &book->records[__atomic_fetch_add(&book->n, 1, __ATOMIC_SEQ_CST)];
	record->site = where;
	record->thread = thread;
	record->address = (uint64_t)(size_t)block;
	record->size = size;
	record->what = what;
}

/* Attributes this thread's next allocator calls to the call site @number. */
void heap_log_enter(uint32_t number)
{
	site = number;
}

void heap_log_site(uint32_t number, const void *code)
{
	note(HEAP_LOG_SITE, number, code, 0);
}

/* Allocates with __libc_malloc(), because malloc() would call the shim. */
static void *allocate(size_t size)
{
	void *block = __libc_malloc(size);

	if (block)
		note(HEAP_LOG_ALLOC, site, block, size);
	return block;
}

void *malloc(size_t size)
{
	return allocate(size);
}

void *calloc(size_t n, size_t size)
{
	void *block = __libc_calloc(n, size);

	if (block)
		note(HEAP_LOG_ALLOC, site, block, n * size);
	return block;
}

void *realloc(void *block, size_t size)
{
	void *moved;

	if (!block)
		return allocate(size);
	note(HEAP_LOG_REALLOC, site, block, 0);
	moved = __libc_realloc(block, size);
	note(HEAP_LOG_MOVED, site, moved, size);
	return moved;
}

void free(void *block)
{
	if (block)
		note(HEAP_LOG_FREE, site, block, 0);
	__libc_free(block);
}
