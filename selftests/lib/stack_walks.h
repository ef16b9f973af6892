/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walks the current stack with all of the shim's methods and with libunwind. Link with the shim's unwinder and with
 * -Wl,--wrap=mf_full_walk_step (selftests/host/preload_unwind.mk).
 */
#ifndef MASSIF_SELFTESTS_STACK_WALKS_H
#define MASSIF_SELFTESTS_STACK_WALKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/stack/unwind.h"

#define WALKS_THEIRS_MAX 1024u

/*
 * Attribute for a function that must not be inlined or cloned, and in which tail calls must not be turned into jumps.
 */
#define FRAME __attribute__((noipa, optimize("no-optimize-sibling-calls")))

/*
 * The return addresses of one stack, innermost first, as found by the shim's walk (ours) and by libunwind's (theirs).
 */
struct walks_comparison {
	uint64_t ours[MF_DEPTH_MAX], theirs[WALKS_THEIRS_MAX];
	uint32_t n_ours, n_theirs;
	uint64_t caller;
};

struct walks {
	struct walks_comparison compared; /* result of the last comparison between the shim's walk and libunwind's */
	uint32_t depth;			  /* maximum depth of a walk */
	/*
	 * Numbers of wrong stacks, counted separately for walks that reuse frames of the previous walk and for the
	 * memo, which remembers earlier stacks of a thread.
	 */
	uint32_t wrong_after_another, wrong_in_memo;
	/*
	 * number of stacks found in the memo (the cache of a thread's earlier stacks), and how many of these were found
	 * without computing a hash
	 */
	uint32_t hits, recalls;
	uint32_t n_remembered;
	/*
	 * number of unwinding steps that recovered all registers; steps that use cached unwind rules need not recover
	 * all of them
	 */
	uint32_t complete_steps;
};

extern struct walks walks;

/* Set while a thread runs a signal handler; handlers have their own unwinder state. */
extern __thread bool walks_in_handler;

/* The innermost function of every scenario. Walks the stack with all methods and compares the results. Returns 1. */
int walks_probe(void);

/* Returns the index of the first frame in which the two stacks differ, or -1 if they are equal. */
int walks_difference(const struct walks_comparison *c);

/* Returns whether the stack words of the last walk are sufficient to recognise its stack. */
bool walks_repeatable(void);

/* Forgets all remembered unwind rules, as happens when code is unmapped. */
void walks_forget(void);

/* Calls @run on a different stack, with @size bytes at @stack, like a coroutine that never yields. */
void walks_call_on(void *stack, size_t size, void (*run)(void));

/*
 * Expects that all methods of walking the stack have found the same frames. @least is the minimum number of frames, so
 * that two empty stacks do not pass.
 */
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
