/* SPDX-License-Identifier: GPL-2.0 */
/* Keeps track of the part of the current thread's own stack that is known to be readable. */
#ifndef MASSIF_PRELOAD_STACK_BOUNDS_H
#define MASSIF_PRELOAD_STACK_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

struct mf_stack_bounds {
	/*
	 * Upper end of the stack. For a thread that glibc has created, this is the address of the thread descriptor,
	 * which is at the top of the stack's mapping.
	 */
	uint64_t end;
	uint64_t low;  /* lowest address of the stack that is known to be readable; page-aligned */
	uint64_t hole; /* highest address known to be unreadable: the last byte of a page; 0 if none is known */
	bool is_first; /* true for the initial stack, which the kernel grows on any access, even a readability test */
};

/* Assumed maximum size of a stack, in bytes. Addresses further apart are taken to be on different stacks. */
#define MF_STACK_MAX (1ull << 30)

struct mf_stack_bounds *mf_stack_bounds(void);

/*
 * Sets the ID of the process's initial thread, which is otherwise the first one to be seen. Used when another thread may
 * have loaded the shim.
 */
void mf_stack_bounds_set_first(uint64_t thread);

/*
 * Returns whether @address is known to be on the thread's stack, whose bounds are @own. If so, it can be read as long
 * as the thread exists.
 */
static inline bool mf_stack_bounds_holds(const struct mf_stack_bounds *own, uint64_t address)
{
	return address - own->low < own->end - own->low;
}

/* Is @address on the current thread's stack? If this is not known yet, tests whether the memory is readable. */
bool mf_stack_bounds_reaches(uint64_t address);

/*
 * Returns the bounds of the current thread's stack, extended down to @sp if @sp is on that stack. The thread's stack
 * pointer must not be above @sp.
 */
const struct mf_stack_bounds *mf_stack_bounds_at(uint64_t sp);

#endif
