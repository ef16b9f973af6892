/* SPDX-License-Identifier: GPL-2.0 */
/* Allocators defined by the program itself. HOSTILE_OWN selects one; 0: none. */
#ifndef MASSIF_SELFTESTS_OWN_H
#define MASSIF_SELFTESTS_OWN_H

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "state.h"

#define OWN_NONE  0
/*
 * an allocator whose functions call no others; with -fipa-ra, callers keep values in registers that these functions do
 * not change
 */
#define OWN_LEAF  1
#define OWN_POOL  2 /* an allocator that has a lock and a free list; its functions call each other */
#define OWN_JUMP  3 /* an allocator like OWN_POOL, but on request malloc() calls longjmp() instead of returning */
#define OWN_STACK 4 /* an allocator like OWN_POOL, but malloc() works on a separate stack */
#define OWN_NEXT  5 /* an allocator that puts a header before the C library's blocks */

#if HOSTILE_OWN != OWN_NONE

#ifdef __cplusplus
#define OWN extern "C" __attribute__((noinline, used))
#define MAY_THROW throw()
#else
#define OWN __attribute__((noinline, used))
#define MAY_THROW
#endif

#define OWN_ROOM (1ul << 30)

static jmp_buf own_out;
static int own_armed;

#if HOSTILE_OWN == OWN_LEAF

static char *own_memory;
static size_t own_used;

/* A block's size is stored before it. Blocks are never reused. The first call maps all memory. */
OWN void *malloc(size_t size) MAY_THROW
{
	char *block;

	if (size > OWN_ROOM / 2) {
		errno = ENOMEM;
		return NULL;
	}
	if (!own_memory)
		own_memory = (char *)mmap(NULL, 4 * OWN_ROOM, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	block = own_memory + __atomic_fetch_add(&own_used, ((size + 15) & ~15ul) + 16, __ATOMIC_RELAXED);
	*(size_t *)block = size;
	return block + 16;
}

OWN void free(void *block) MAY_THROW
{
}

#define own_size(block) (((size_t *)(block))[-2])

#else

struct own_block {
	size_t size, room;
	struct own_block *next;
	void *pad;
};

static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static struct own_block *own_free[48];
static char *own_at, *own_end;

static unsigned int own_class(size_t size)
{
	unsigned int class_ = 5;

	while ((1ul << class_) < size)
		class_++;
	return class_;
}

static void *own_take(size_t size)
{
	unsigned int class_ = own_class(size + sizeof(struct own_block));
	struct own_block *block;

	pthread_mutex_lock(&own_lock);
	block = own_free[class_];
	if (block) {
		own_free[class_] = block->next;
	} else {
		if ((size_t)(own_end - own_at) < (1ul << class_)) {
			size_t length = (1ul << class_) < (1ul << 22) ? 1ul << 22 : 1ul << class_;

			own_at = (char *)mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			if ((void *)own_at == MAP_FAILED) {
				own_at = own_end = NULL;
				pthread_mutex_unlock(&own_lock);
				errno = ENOMEM;
				return NULL;
			}
			own_end = own_at + length;
		}
		block = (struct own_block *)own_at;
		own_at += 1ul << class_;
		block->room = (1ul << class_) - sizeof(*block);
	}
	block->size = size;
	pthread_mutex_unlock(&own_lock);
	return block + 1;
}

#if HOSTILE_OWN == OWN_STACK

static __thread ucontext_t own_there, own_here;
static __thread size_t own_wanted;
static __thread void *own_taken, *own_stack;

static void own_work(void)
{
	own_taken = own_take(own_wanted);
}

static void *own_switch(size_t size)
{
	if (!own_stack)
		own_stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	own_wanted = size;
	getcontext(&own_there);
	own_there.uc_stack.ss_sp = own_stack;
	own_there.uc_stack.ss_size = 65536;
	own_there.uc_link = &own_here;
	makecontext(&own_there, own_work, 0);
	swapcontext(&own_here, &own_there);
	return own_taken;
}

#endif

OWN void *malloc(size_t size) MAY_THROW
{
	if (size > OWN_ROOM) {
		errno = ENOMEM;
		return NULL;
	}
#if HOSTILE_OWN == OWN_JUMP
	if (own_armed && --own_armed == 0)
		longjmp(own_out, 1);
#endif
#if HOSTILE_OWN == OWN_STACK
	return own_switch(size);
#else
	return own_take(size);
#endif
}

OWN void free(void *pointer) MAY_THROW
{
	struct own_block *block = (struct own_block *)pointer - 1;
	unsigned int class_;

	if (!pointer)
		return;
	class_ = own_class(block->room + sizeof(*block));
	pthread_mutex_lock(&own_lock);
	/* An aligned block lies inside a larger block and has no memory of its own, so it is leaked. */
	if (block->room) {
		block->next = own_free[class_];
		own_free[class_] = block;
	}
	pthread_mutex_unlock(&own_lock);
}

#define own_size(block) (((struct own_block *)(block))[-1].size)

#endif

OWN void *calloc(size_t count, size_t size) MAY_THROW
{
	void *block;
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	block = malloc(bytes);
	/* Prevents the compiler from combining malloc() and memset() into a call to calloc(), which would recurse. */
	__asm__ volatile("" : "+r"(block));
	if (block)
		memset(block, 0, bytes);
	return block;
}

OWN void *realloc(void *old, size_t size) MAY_THROW
{
	void *block = malloc(size);

	if (!block || !old)
		return block;
	memcpy(block, old, own_size(old) < size ? own_size(old) : size);
	free(old);
	return block;
}

OWN void *memalign(size_t alignment, size_t size) MAY_THROW
{
	char *block;

	if (alignment > OWN_ROOM || size > OWN_ROOM / 2) {
		errno = ENOMEM;
		return NULL;
	}
	if (alignment <= 16)
		return malloc(size);
	block = (char *)malloc(size + alignment + 64);
	if (!block)
		return NULL;
	block = (char *)(((uintptr_t)block + 32 + alignment - 1) / alignment * alignment);
	memset(block - 32, 0, 32);
	own_size(block) = size;
	return block;
}

OWN int posix_memalign(void **block, size_t alignment, size_t size) MAY_THROW
{
	int error = errno;

	if (alignment < 8 || (alignment & (alignment - 1)))
		return EINVAL;
	*block = memalign(alignment, size);
	errno = error;
	return *block ? 0 : ENOMEM;
}

OWN void *aligned_alloc(size_t alignment, size_t size) MAY_THROW
{
	return memalign(alignment, size);
}

OWN void *valloc(size_t size) MAY_THROW
{
	return memalign(4096, size);
}

OWN void *pvalloc(size_t size) MAY_THROW
{
	return memalign(4096, (size + 4095) & ~4095ul);
}

OWN size_t malloc_usable_size(void *block) MAY_THROW
{
	return block ? own_size(block) : 0;
}

#endif

/*
 * Repeatedly leaves the allocator with longjmp(). The shim must not treat later calls as nested in a call that was
 * abandoned in this way.
 */
UNUSED static uint64_t piece_own_jumps(unsigned int p)
{
	volatile uint64_t sum = churn(p, 100);
#if HOSTILE_OWN == OWN_JUMP
	for (volatile unsigned int i = 0; i < 20; i++) {
		if (!setjmp(own_out)) {
			own_armed = 1 + (int)(i % 5);
			sum = mix(sum, churn(p + i, 30));
		}
		own_armed = 0;
		sum = mix(sum, churn(p + i, 10));
	}
#endif
	return sum;
}

#endif
