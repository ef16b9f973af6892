/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stack cache of one address space. It contains the stacks that were unwound, with every word and register that was
 * read to unwind them. A stack with the same values is not unwound again. Once the values have been sent to the module,
 * the module does not even copy such a stack (linux/massif.h).
 */
#ifndef MASSIF_PAGES_STACK_CACHE_H
#define MASSIF_PAGES_STACK_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pages/unwind.h"

#define MF_KNOWN_NONE 0u

struct mf_stack_cache;
struct massif_stack_cache_stack;

/* Creates an empty cache. Returns NULL if out of memory. */
struct mf_stack_cache *mf_stack_cache_create(void);
void mf_stack_cache_destroy(struct mf_stack_cache *known);

/*
 * Returns the number of the cached stack that matches @stack, meaning that every word and register that was read to
 * unwind the cached stack has the same value in @stack. Returns MF_KNOWN_NONE if there is none.
 */
uint32_t mf_stack_cache_find(const struct mf_stack_cache *known, const struct mf_user_stack *stack);

/*
 * Adds @stack, whose walk read the values listed in @trace and led to @context. Returns the stack's number, or
 * MF_KNOWN_NONE if out of memory.
 */
uint32_t mf_stack_cache_add(struct mf_stack_cache *known, const struct mf_user_stack *stack,
		      const struct mf_trace *trace, uint32_t context);

/*
 * Drops all stacks, because code has changed. All numbers returned so far become stale. The module drops its stacks
 * when the same code changes, so stale numbers in its records can be ignored.
 */
void mf_stack_cache_flush(struct mf_stack_cache *known);

/* Finds the context of stack @number. Returns false if the number does not exist or is stale. */
bool mf_stack_cache_context(const struct mf_stack_cache *known, uint32_t number, uint32_t *context);

/*
 * Describes the stack @number for the module. The stack must have been found or added since the last flush. Returns
 * memory that the caller must free, or NULL if out of memory.
 */
struct massif_stack_cache_stack *mf_stack_cache_describe(const struct mf_stack_cache *known, uint32_t number,
					     uint32_t target, uint32_t code_gen);

/*
 * Returns whether the cached stack @number must be sent to the module, possibly again. At time @time_ns, the module
 * copied a stack equal to this one and put @code_gen into the STACK record (linux/massif.h), so it did not have the
 * cached stack then. The stack must be sent unless it has been sent since @time_ns for the same @code_gen. If it must
 * be sent, records that it was sent at time @now_ns. Times are CLOCK_MONOTONIC.
 */
bool mf_stack_cache_is_unsent(struct mf_stack_cache *known, uint32_t number, uint32_t code_gen, uint64_t time_ns,
		     uint64_t now_ns);

#endif
