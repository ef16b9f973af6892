// SPDX-License-Identifier: GPL-2.0
// A library for dlopen(3) with blocks of its own, announced by client requests.

#include <stddef.h>
#include <valgrind/valgrind.h>

static char arena[65536] __attribute__((aligned(16)));
static size_t used;

void *diff_requests_make(size_t size);
void diff_requests_end(void *block);

__attribute__((noinline)) void *diff_requests_make(size_t size)
{
	void *block = arena + used;

	used += (size + 15) & ~(size_t)15;
	VALGRIND_MALLOCLIKE_BLOCK(block, size, 0, 0);
	return block;
}

__attribute__((noinline)) void diff_requests_end(void *block)
{
	VALGRIND_FREELIKE_BLOCK(block, 0);
}

/* Announces a block with a client request before the dlopen() of this library returns. */
__attribute__((constructor)) static void load(void)
{
	diff_requests_make(777);
}
