/* SPDX-License-Identifier: GPL-2.0 */
/* The present thread's own stack: what of it is known to be memory. */
#ifndef MASSIF_PRELOAD_OWN_STACK_H
#define MASSIF_PRELOAD_OWN_STACK_H

#include <stdbool.h>
#include <stdint.h>

struct mf_stack_bounds {
	uint64_t end;  /* glibc puts a thread's descriptor there, at the upper end of what it maps */
	uint64_t low;  /* from here on it can be read; pages, as is the next one */
	uint64_t hole; /* below which it does not go on; 0: not known */
	bool is_first; /* the kernel's, which grows, also when somebody asks whether it can be read there */
};

/* The furthest that a stack's end is from any of it; larger distances are between different stacks. Bytes. */
#define MF_STACK_MAX (1ull << 30)

struct mf_stack_bounds *mf_stack_bounds(void);

/* Is @address known to lie on @own? Then it can be read as long as the thread is there. */
static inline bool mf_stack_bounds_holds(const struct mf_stack_bounds *own, uint64_t address)
{
	return address - own->low < own->end - own->low;
}

/* The same; the kernel is asked if it is not known. */
bool mf_stack_bounds_reaches(uint64_t address);

/* The thread's stack pointer is at @sp or below: if it is on its own stack, that reaches down to there. */
const struct mf_stack_bounds *mf_stack_bounds_at(uint64_t sp);

#endif
