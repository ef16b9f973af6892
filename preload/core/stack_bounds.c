// SPDX-License-Identifier: GPL-2.0
// Keeps track of the part of the current thread's own stack that is known to be readable.

#include "stack_bounds.h"

#include <pthread.h>

#include "readable.h"

#ifdef __x86_64__

#define PAGE_SIZE 4096ull

/* The kernel keeps this many bytes below the end of the initial stack free of other mappings. */
#define FIRST_STACK_ALONE (64ull << 20)

/* Address of argc, which the kernel has stored at the end of the initial stack. Set by the dynamic linker. */
extern void *__libc_stack_end;

/*
 * ID of the process's initial thread. Set at this thread's first event or by note_first_thread(), whichever comes
 * first.
 */
static pthread_t first_thread;

static __attribute__((constructor)) void note_first_thread(void)
{
	if (!first_thread)
		first_thread = pthread_self();
}

void mf_stack_bounds_set_first(uint64_t thread)
{
	first_thread = (pthread_t)thread;
}

struct mf_stack_bounds *mf_stack_bounds(void)
{
	static __thread struct mf_stack_bounds own __attribute__((tls_model("initial-exec")));

	if (!own.end) {
		note_first_thread();
		own.is_first = first_thread == pthread_self();
		own.end = own.is_first ? (uint64_t)(uintptr_t)__libc_stack_end : (uint64_t)(uintptr_t)pthread_self();
		own.low = own.end & ~(PAGE_SIZE - 1);
	}
	return &own;
}

bool mf_stack_bounds_reaches(uint64_t address)
{
	struct mf_stack_bounds *own = mf_stack_bounds();

	if (address >= own->end || own->end - address >= MF_STACK_MAX || address <= own->hole)
		return false;
	if (own->is_first)
		return address >= own->low;
	while (own->low > address) {
		if (!mf_readable_word(own->low - PAGE_SIZE)) {
			own->hole = own->low - 1;
			return false;
		}
		own->low -= PAGE_SIZE;
	}
	return true;
}

/* Extends the known part of the thread's own stack down to @sp, unless @sp is on another stack. */
static __attribute__((noinline)) void widen_own_stack(struct mf_stack_bounds *own, uint64_t sp)
{
	if (!own->is_first)
		mf_stack_bounds_reaches(sp);
	else if (own->end - sp < FIRST_STACK_ALONE)
		own->low = sp & ~(PAGE_SIZE - 1);
}

const struct mf_stack_bounds *mf_stack_bounds_at(uint64_t sp)
{
	struct mf_stack_bounds *own = mf_stack_bounds();

	if (__builtin_expect(sp < own->low, 0))
		widen_own_stack(own, sp);
	return own;
}

#endif
