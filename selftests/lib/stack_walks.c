// SPDX-License-Identifier: GPL-2.0
// Walks the current stack with all of the shim's methods and with libunwind.

#include "selftests/lib/stack_walks.h"

#include <string.h>
#include <ucontext.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "preload/core/libc.h"
#include "preload/stack/full_walk.h"
#include "preload/stack/memo.h"

/* Whether the C library has _dl_find_object(); tests may pretend that it does not. */
bool mf_libc_has_find_object = true;

struct walks walks = { .depth = MF_DEPTH_MAX };

__thread bool walks_in_handler;

#define MEMO_ROOM (1u << 20)

/* The unwinder's per-thread state. */
struct knowledge {
	struct mf_walk fresh, after_another;
	struct mf_memo memo;
	/* the memory that @memo uses for its pool and its table */
	uint64_t pool_and_table[MEMO_ROOM + MEMO_ROOM / MF_MEMO_WORDS_PER_SLOT];
};

#define REMEMBERED_MAX 20000u

static __thread struct knowledge knowledge[2];

/*
 * The stacks stored in the threads' memos (a memo caches the stacks that a thread has had earlier), indexed by context.
 */
static struct {
	uint32_t n, depth;
	uint64_t pcs[64];
} remembered[REMEMBERED_MAX];

enum mf_frame_undone __real_mf_full_walk_step(struct mf_full_walk *complete, uint32_t steps,
					     const struct mf_registers *at, struct mf_registers *outer);
enum mf_frame_undone __wrap_mf_full_walk_step(struct mf_full_walk *complete, uint32_t steps,
					     const struct mf_registers *at, struct mf_registers *outer);

enum mf_frame_undone __wrap_mf_full_walk_step(struct mf_full_walk *complete, uint32_t steps,
					     const struct mf_registers *at, struct mf_registers *outer)
{
	walks.complete_steps++;
	return __real_mf_full_walk_step(complete, steps, at, outer);
}

static void walk_theirs(struct walks_comparison *c)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t pc;

	c->n_theirs = 0;
	unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_NONE);
	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	do {
		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		if (pc && (c->n_theirs || pc == c->caller) && c->n_theirs < WALKS_THEIRS_MAX)
			c->theirs[c->n_theirs++] = pc;
	} while (unw_step(&cursor) > 0);
}

/*
 * Copies the return addresses of a walk, except those of frames that the walk has only guessed from the chain of frame
 * pointers. Returns the number of addresses copied.
 */
static uint32_t copy(const struct mf_walk *walk, uint64_t pcs[MF_DEPTH_MAX])
{
	uint32_t n = 0;

	for (uint32_t i = walk->n; i-- > 0;)
		if (!walk->frames[i].is_link)
			pcs[n++] = walk->frames[i].pc;
	return n;
}

static bool is_same(const struct mf_walk *walk)
{
	uint64_t pcs[MF_DEPTH_MAX];
	uint32_t n = copy(walk, pcs);

	return n == walks.compared.n_ours && !memcmp(pcs, walks.compared.ours, n * sizeof(*pcs));
}

static void remember(struct mf_memo *memo, const struct mf_registers *caller,
		     const struct mf_walk *walk)
{
	uint32_t context = __atomic_add_fetch(&walks.n_remembered, 1, __ATOMIC_RELAXED);

	if (!walk->repeatable || walks.compared.n_ours > 64 || context >= REMEMBERED_MAX)
		return;
	remembered[context].n = walks.compared.n_ours;
	remembered[context].depth = walks.depth;
	memcpy(remembered[context].pcs, walks.compared.ours, walks.compared.n_ours * sizeof(uint64_t));
	mf_memo_enter(memo, caller, walk, context);
}

static void recall(struct mf_memo *memo, const struct mf_registers *caller,
		   const struct mf_walk *walk)
{
	uint32_t context = mf_memo_recall(memo, caller->sp, caller->pc);

	if (context)
		walks.recalls++;
	else
		context = mf_memo_find(memo, caller->sp, caller->pc);
	if (!context) {
		remember(memo, caller, walk);
		return;
	}
	walks.hits++;
	if (remembered[context].depth == walks.depth &&
	    (remembered[context].n != walks.compared.n_ours ||
	     memcmp(remembered[context].pcs, walks.compared.ours,
		    walks.compared.n_ours * sizeof(uint64_t))))
		walks.wrong_in_memo++;
}

static void walk_ours(const struct mf_registers *caller)
{
	struct knowledge *known = &knowledge[walks_in_handler];

	known->memo.room = MEMO_ROOM;
	known->fresh.n = 0;
	mf_unwind(&known->fresh, caller, walks.depth);
	walks.compared.n_ours = copy(&known->fresh, walks.compared.ours);
	mf_unwind(&known->after_another, caller, walks.depth);
	walks.wrong_after_another += !is_same(&known->after_another);
	recall(&known->memo, caller, &known->after_another);
}

FRAME __attribute__((optimize("no-omit-frame-pointer"))) int walks_probe(void)
{
	walks.compared.caller = (uint64_t)(uintptr_t)__builtin_return_address(0);
	walk_ours(&MF_CALLER);
	walk_theirs(&walks.compared);
	return 1;
}

int walks_difference(const struct walks_comparison *c)
{
	uint32_t expected = c->n_theirs < walks.depth ? c->n_theirs : walks.depth;

	for (uint32_t i = 0; i < expected && i < c->n_ours; i++)
		if (c->ours[i] != c->theirs[i])
			return (int)i;
	return c->n_ours == expected ? -1 : (int)(c->n_ours < expected ? c->n_ours : expected);
}

bool walks_repeatable(void)
{
	return knowledge[walks_in_handler].after_another.repeatable;
}

void walks_forget(void)
{
	mf_unwind_forget(0, UINT64_MAX);
	memset(&knowledge[0].after_another, 0, sizeof(knowledge[0].after_another));
	mf_memo_forget(&knowledge[0].memo);
}

void walks_call_on(void *stack, size_t size, void (*run)(void))
{
	static ucontext_t outside, inside;

	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = size;
	inside.uc_link = &outside;
	makecontext(&inside, run, 0);
	swapcontext(&outside, &inside);
}
