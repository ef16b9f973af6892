// SPDX-License-Identifier: GPL-2.0
// The stacks that events wait for, and how their contexts are found.

#include "pages/wait.h"

#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "model/trie.h"
#include "pages/target.h"

/* If code was unmapped, drops the cached rules and stacks that depend on it. */
static void forget_code(struct mf_target *target)
{
	if (!mf_code_take_left(&target->accounting->code))
		return;
	if (target->unwinder)
		mf_unwinder_flush(target->unwinder);
	if (target->known)
		mf_stack_cache_flush(target->known);
}

static bool make_unwinder(struct mf_target *target)
{
	struct mf_accounting *a = target->accounting;

	if (target->unwinder)
		return true;
	if (mf_unwinder_create(&a->space, a->files, &a->code, &target->unwinder, NULL))
		return false;
	if (target->common->known_mode != MF_KNOWN_OFF)
		target->known = mf_stack_cache_create();
	return true;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * Called after @stack has been copied: sends the cached stack @number to the module, unless the module already has it.
 */
static void queue_stack(struct mf_target *target, const struct massif_rec_stack *stack, uint32_t number)
{
	mf_auto_free struct massif_stack_cache_stack *cached = NULL;

	if (stack->known || !mf_stack_cache_is_unsent(target->known, number, stack->code_gen,
					     stack->h.time_ns, now_ns()))
		return;
	cached = mf_stack_cache_describe(target->known, number, target->number, stack->code_gen);
	if (cached)
		mf_ring_queue_stack(target->common->ring, cached);
}

/*
 * The module has recognised a cached stack. In verify mode, the stack has been walked anyway, with the result @context.
 * Checks that @context is also the cached stack's context, and counts the checks and the mismatches.
 */
static void verify(struct mf_target *target, const struct massif_rec_stack *stack, uint32_t context)
{
	uint32_t known;

	if (!stack->known)
		return;
	target->process.verified++;
	if (!mf_stack_cache_context(target->known, stack->known, &known) || known != context)
		target->process.wrong_stacks++;
}

/* Returns the context of @stack, which must have registers. */
static uint32_t context_of_stack(struct mf_target *target, const struct massif_rec_stack *stack)
{
	bool verifies = target->common->known_mode == MF_KNOWN_VERIFY;
	struct mf_user_stack user = {
		.regs = (const uint64_t *)stack->regs,
		.n_regs = stack->nr_regs,
		.sp = stack->sp,
		.bytes = (const uint8_t *)stack + stack->data_off,
		.n_bytes = stack->bytes,
		.at_limit = stack->stack_flags & MASSIF_STACK_TRUNCATED,
	};
	const struct mf_trace *trace;
	uint32_t context = MF_CONTEXT_NONE, number = MF_KNOWN_NONE;
	struct mf_walk walk;

	if (!make_unwinder(target))
		return mf_accounting_note(target->accounting, MF_WORDS_NO_STACK);
	forget_code(target);
	target->process.captured++;
	if (target->known && user.n_bytes)
		number = mf_stack_cache_find(target->known, &user);
	if (!number || !mf_stack_cache_context(target->known, number, &context) || verifies) {
		mf_unwinder_walk(target->unwinder, &user, target->common->frames, &walk);
		context = mf_accounting_stack(target->accounting, &walk);
		target->process.walked++;
	}
	trace = mf_unwinder_trace(target->unwinder);
	/*
	 * Add the stack to the stack cache only while the target is in sync: otherwise our mappings may differ from
	 * those at the time of the stack copy.
	 */
	if (!number && target->known && user.n_bytes && trace && target->in_sync)
		number = mf_stack_cache_add(target->known, &user, trace, context);
	if (number)
		queue_stack(target, stack, number);
	if (verifies && target->known)
		verify(target, stack, context);
	return context;
}

/*
 * The module has recognised a stack as the cached stack @number: returns that stack's context, or a placeholder if we
 * no longer have the stack.
 */
static uint32_t context_of_known(struct mf_target *target, uint32_t number)
{
	uint32_t context;

	forget_code(target);
	if (target->known && mf_stack_cache_context(target->known, number, &context)) {
		target->process.recognised++;
		return context;
	}
	target->process.no_stack++;
	return mf_accounting_note(target->accounting, MF_WORDS_NO_STACK);
}

/* Returns a context with a placeholder frame for a record without a stack, according to the record's flags. */
static uint32_t context_of_flags(struct mf_target *target, uint32_t flags)
{
	static const struct {
		uint32_t flag;
		const char *words;
	} words[] = {
		{MASSIF_RF_EXTERNAL, MF_WORDS_EXTERNAL},
		{MASSIF_RF_IN_EXEC, MF_WORDS_EXEC},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (flags & words[i].flag)
			return mf_accounting_note(target->accounting, words[i].words);
	target->process.no_stack++;
	return mf_accounting_note(target->accounting, MF_WORDS_NO_STACK);
}

void mf_wait_resolve(struct mf_target *target, struct mf_stack_wait *wait,
		     const struct massif_rec_stack *stack)
{
	if (stack && stack->stack_flags & MASSIF_STACK_LIMITED)
		target->process.limited++;
	if (stack && stack->known && !stack->nr_regs)
		wait->context = context_of_known(target, stack->known);
	else if (stack && stack->nr_regs && stack->arch == MF_UNWIND_ARCH)
		wait->context = context_of_stack(target, stack);
	else
		wait->context = context_of_flags(target, 0);
	wait->state = MF_WAIT_RESOLVED;
}

uint32_t mf_wait_context(struct mf_target *target, struct mf_stack_wait *wait, uint32_t known,
			 uint32_t flags)
{
	if (known)
		return context_of_known(target, known);
	if (!wait)
		return context_of_flags(target, flags);
	if (wait->state == MF_WAIT_HELD)
		mf_wait_resolve(target, wait, wait->held);
	return wait->context;
}

/*
 * Records that the stack copy will never arrive. Its context is determined when it is needed: a forked child gets the texts
 * and objects of its parent first, and has none of its own before.
 */
static void give_up(struct mf_stack_wait *wait)
{
	wait->state = MF_WAIT_HELD;
}

/*
 * Only one stack copy per thread is outstanding at any time, so an older copy that has not arrived by now will never
 * arrive.
 */
struct mf_stack_wait *mf_wait_for(struct mf_target *target, uint32_t capture, uint32_t tid)
{
	struct mf_stack_wait *wait, *found = NULL;

	for (wait = target->waits; wait; wait = wait->next) {
		if (wait->capture == capture)
			found = wait;
		else if (wait->tid == tid && wait->state == MF_WAIT_OPEN)
			give_up(wait);
	}
	if (found)
		return found;
	wait = calloc(1, sizeof(*wait));
	if (!wait)
		return NULL;
	*wait = (struct mf_stack_wait){.capture = capture, .tid = tid, .next = target->waits};
	target->waits = wait;
	return wait;
}

uint32_t mf_wait_open_capture(const struct mf_target *target, uint32_t tid)
{
	for (const struct mf_stack_wait *wait = target->waits; wait; wait = wait->next)
		if (wait->tid == tid && wait->state == MF_WAIT_OPEN)
			return wait->capture;
	return 0;
}

void mf_wait_release(struct mf_target *target, struct mf_stack_wait *wait)
{
	struct mf_stack_wait **link = &target->waits;

	if (--wait->n_events)
		return;
	while (*link != wait)
		link = &(*link)->next;
	*link = wait->next;
	if (wait->held)
		target->common->held_bytes -= wait->held->h.size;
	free(wait->held);
	free(wait);
}

void mf_wait_give_up(struct mf_target *target)
{
	for (struct mf_stack_wait *wait = target->waits; wait; wait = wait->next)
		if (wait->state == MF_WAIT_OPEN)
			give_up(wait);
}
