/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The present stack, taken in all ways that the shim has, and by libunwind. Link with the shim's unwinder and
 * with -Wl,--wrap=mf_full_walk_step (selftests/host/preload_unwind.mk).
 */
#ifndef MASSIF_SELFTESTS_STACK_WALKS_H
#define MASSIF_SELFTESTS_STACK_WALKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/stack/unwind.h"

#define WALKS_THEIRS_MAX 1024u

/* Not inlined, not cloned, and no calls made into jumps. */
#define FRAME __attribute__((noipa, optimize("no-optimize-sibling-calls")))

/* Return addresses, innermost first. */
struct walks_comparison {
	uint64_t ours[MF_DEPTH_MAX], theirs[WALKS_THEIRS_MAX];
	uint32_t n_ours, n_theirs;
	uint64_t caller;
};

struct walks {
	struct walks_comparison compared; /* the last one */
	uint32_t depth;			  /* to walk, at most */
	/* Stacks of which the walk that starts in another's frames, or the memo, has something else. */
	uint32_t wrong_after_another, wrong_in_memo;
	uint32_t hits, recalls; /* of the memo; those of them without a hash */
	uint32_t n_remembered;
	uint32_t complete_steps; /* with all registers: the remembered rules do not tell them */
};

extern struct walks walks;

/* A thread's signal handlers, who may come in between, know their own stacks. */
extern __thread bool walks_in_handler;

/* The innermost frame of every scenario: takes the stack in all ways. Returns 1. */
int walks_probe(void);

/* The first frame in which the two differ, -1 if none. */
int walks_difference(const struct walks_comparison *c);

/* Can the walk that was taken last be known again by its words? */
bool walks_repeatable(void);

/* Code has gone. */
void walks_forget(void);

/* Calls @run on a stack of its own, of @size bytes at @stack, as a coroutine that never rests. */
void walks_call_on(void *stack, size_t size, void (*run)(void));

/* @least: frames that there must be at least, so that two empty stacks are no success. */
#define EXPECT_SAME(least)								\
	do {										\
		EXPECT_LE(least, (int)walks.compared.n_theirs);				\
		EXPECT_EQ(-1, walks_difference(&walks.compared))			\
		{									\
			TH_LOG("%u frames, not %u", walks.compared.n_ours, walks.compared.n_theirs); \
		}									\
		EXPECT_EQ(0, walks.wrong_after_another);				\
		EXPECT_EQ(0, walks.wrong_in_memo);					\
	} while (0)

#endif
