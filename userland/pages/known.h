/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stacks of one address space that have been walked, by all that their walks read: an equal one
 * is not walked again; and, told of it, the module need not even capture it (linux/massif.h).
 */
#ifndef MASSIF_PAGES_KNOWN_H
#define MASSIF_PAGES_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pages/unwind.h"

#define MF_KNOWN_NONE 0u

struct mf_stack_cache;
struct massif_stack_cache_stack;

/* NULL when memory ran out. */
struct mf_stack_cache *mf_stack_cache_create(void);
void mf_stack_cache_destroy(struct mf_stack_cache *known);

/* The number of the stack that @stack equals in all that matters; MF_KNOWN_NONE: of none. */
uint32_t mf_stack_cache_find(const struct mf_stack_cache *known, const struct mf_user_stack *stack);

/*
 * Remembers @stack, whose walk read what @trace says and led to @context. Returns its number, or
 * MF_KNOWN_NONE when memory ran out.
 */
uint32_t mf_stack_cache_add(struct mf_stack_cache *known, const struct mf_user_stack *stack,
		      const struct mf_trace *trace, uint32_t context);

/*
 * Code has changed: no stack equals one from before. Their numbers are known as stale, for the
 * module was to forget them as well.
 */
void mf_stack_cache_flush(struct mf_stack_cache *known);

/* The context of a stack by number. False if there is no such number, or it is stale. */
bool mf_stack_cache_context(const struct mf_stack_cache *known, uint32_t number, uint32_t *context);

/* What is to be told of stack @number, found or added since the last flush. Of malloc, or NULL. */
struct massif_stack_cache_stack *mf_stack_cache_describe(const struct mf_stack_cache *known, uint32_t number,
					     uint32_t target, uint32_t code_gen);

/*
 * Whether a capture of stack @number with @code_gen at @time_ns shows that the module does not know
 * it (any more). If so, it is noted as told at @now_ns.
 */
bool mf_stack_cache_untold(struct mf_stack_cache *known, uint32_t number, uint32_t code_gen, uint64_t time_ns,
		     uint64_t now_ns);

#endif
