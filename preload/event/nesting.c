// SPDX-License-Identifier: GPL-2.0
// Detects nested events.

#include "nesting.h"

#include <errno.h>

#include "stack/depth.h"
#include "core/thread.h"
#include "exclusive.h"

uint64_t mf_nesting_hook_returns;

/* Maximum number of frames to walk from an event to a hook. */
#define DEPTH 1024u

/*
 * Assumed maximum size of a frame, in bytes. A hook's mark is the address of the frame of a hook that has not returned.
 * If the mark is above a frame by less than this size, the mark and the frame are assumed to be on the same stack.
 */
#define NEAR (1ull << 20)

/*
 * Removes and returns the mark with index @i. Each mark stands for a hook that has not returned yet. The other marks
 * keep their order, oldest first.
 */
static struct mf_nesting_mark remove_mark(struct mf_nesting *nesting, uint32_t i)
{
	struct mf_nesting_mark mark = nesting->marks[i];

	for (; i + 1 < nesting->n; i++)
		nesting->marks[i] = nesting->marks[i + 1];
	nesting->n--;
	return mark;
}

void mf_nesting_enter_also(struct mf_nesting *nesting, const struct mf_nesting_mark *mark)
{
	if (nesting->n == MF_NESTING_MARKS)
		remove_mark(nesting, 0);
	nesting->marks[nesting->n++] = *mark;
}

void mf_nesting_leave_one(struct mf_nesting *nesting, uint64_t place)
{
	for (uint32_t i = nesting->n; i-- > 0;) {
		if (nesting->marks[i].place != place)
			continue;
		remove_mark(nesting, i);
		return;
	}
}

/*
 * Removes the mark of a hook that was left without returning (by longjmp() or an exception). Puts the block that the
 * hook was resizing, if any, back into the table of blocks.
 */
static void drop_mark(struct mf_thread *thread, uint32_t i)
{
	uint8_t inside = mf_thread_local.inside;

	struct mf_nesting_mark mark = remove_mark(&thread->private->nesting, i);

	if (mark.resizing.context != MF_CONTEXT_NONE) {
		mf_thread_local.inside = inside | MF_INSIDE_SHIM;
		mf_exclusive_realloc_left(thread, &mark.resizing);
		mf_thread_local.inside = inside;
	}
	if (!thread->private->nesting.n)
		mf_thread_local.inside &= (uint8_t)~MF_INSIDE_OWN;
}

void mf_nesting_unwound(void)
{
	uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0), nearest = NEAR;
	struct mf_thread *thread = mf_thread_local.thread;
	uint32_t innermost;

	if (!thread || !thread->private->nesting.n)
		return;
	innermost = thread->private->nesting.n - 1;
	for (uint32_t i = 0; i < thread->private->nesting.n; i++) {
		uint64_t distance = thread->private->nesting.marks[i].place - here;

		if (distance >= nearest)
			continue;
		nearest = distance;
		innermost = i;
	}
	drop_mark(thread, innermost);
}

struct step {
	uint64_t pc_slot, pc, fp_slot, fp;
	bool consumes_fp;
};

struct search {
	struct mf_thread *thread;
	const struct mf_registers *caller;
	bool found, behind_signal;
	bool is_guess;	 /* a frame had no unwind rule, so all further frames may be wrong */
	/*
	 * the walk guessed a frame and then passed a mark (the address of a hook's frame), so it may have skipped the
	 * hook's frame
	 */
	bool is_skipped;
	/* @steps lists everything that the walk's result depends on, so the result can be stored in a memo */
	bool repeatable;
	uint32_t n;
	struct step steps[MF_NESTING_WORDS];
	uint64_t last_sp; /* stack pointer of the outermost frame that the search for a hook has reached so far */
};

/*
 * Drops the marks (addresses of hooks' frames) that lie inside @frame, which extends from its own stack pointer to that
 * of @outer. Since @frame occupies that part of the stack, those hooks must have been left without returning (for
 * example by longjmp()). But if the walk has guessed a frame, it may have skipped frames, so the marks are kept: in
 * code that has neither unwind rules nor a frame pointer, the walk follows a caller's frame pointer.
 */
static void drop_covered(struct search *search, const struct mf_walk_frame *frame, const struct mf_registers *outer)
{
	struct mf_nesting *nesting = &search->thread->private->nesting;

	if (!frame->sp || outer->sp - frame->sp >= NEAR || mf_thread_local.inside & MF_INSIDE_SHIM)
		return;
	for (uint32_t i = nesting->n; i-- > 0;)
		if (nesting->marks[i].place - frame->sp < outer->sp - frame->sp) {
			if (search->is_guess)
				search->is_skipped = true;
			else
				drop_mark(search->thread, i);
		}
}

static void note_step(struct search *search, const struct mf_walk_frame *frame, const struct mf_registers *outer)
{
	search->repeatable &= search->n < MF_NESTING_WORDS && frame->rule && frame->pc_slot && !frame->other_slot &&
			      !frame->is_guessed && !frame->is_link && !frame->exact;
	if (search->repeatable)
		search->steps[search->n++] = (struct step){
			.pc_slot = frame->pc_slot,
			.pc = outer->pc,
			.fp_slot = frame->fp_slot,
			.fp = outer->fp,
			.consumes_fp = frame->consumes_fp,
		};
}

/*
 * Drops the marks of hooks that were left without returning (by longjmp() or an exception): those on the thread's own
 * stack that lie below the caller's frame.
 */
static void drop_below(struct mf_thread *thread, const struct mf_registers *caller)
{
	if (mf_thread_local.inside & MF_INSIDE_SHIM)
		return;
	for (uint32_t i = thread->private->nesting.n; i-- > 0;) {
		uint64_t place = thread->private->nesting.marks[i].place;

		if (place < caller->sp && mf_depth_is_own_stack(place) && mf_depth_is_own_stack(caller->sp))
			drop_mark(thread, i);
	}
}

static bool visit(const struct mf_walk_frame *frame, const struct mf_registers *outer, void *data)
{
	struct search *search = data;

	note_step(search, frame, outer);
	search->is_guess |= frame->is_guessed;
	search->last_sp = outer->sp;
	search->found = outer->pc == mf_nesting_hook_returns;
	search->behind_signal = outer->exact;
	if (search->found || search->behind_signal)
		return false;
	drop_covered(search, frame, outer);
	return search->thread->private->nesting.n && !search->is_skipped;
}

/* Returns whether a later step uses the frame pointer that step @i of the walk restores. */
static bool is_consumed(const struct search *search, uint32_t i)
{
	while (++i < search->n) {
		if (search->steps[i].consumes_fp)
			return true;
		if (search->steps[i].fp_slot)
			return false;
	}
	return false;
}

static bool add_word(struct mf_nesting_memo *memo, const struct mf_nesting_word *word)
{
	if (memo->n == MF_NESTING_WORDS)
		return false;
	memo->words[memo->n++] = *word;
	return true;
}

/*
 * Records in a memo that @search has found the caller to be nested. The memo is invalid while it is being written,
 * since a signal handler may read it.
 */
static void remember(const struct search *search)
{
	const struct mf_registers *caller = search->caller;
	struct mf_nesting_memo *memo = mf_nesting_memo_of(&search->thread->private->nesting, caller->pc);
	bool fits = true, is_saved = false;

	__atomic_store_n(&memo->pc, 0, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	memo->n = 0;
	memo->generation = mf_objects_generation();
	memo->fp = caller->fp - caller->sp;
	memo->needs_fp = false;
	for (uint32_t i = 0; i < search->n && fits; i++) {
		const struct step *step = &search->steps[i];

		memo->needs_fp |= step->consumes_fp && !is_saved;
		is_saved |= step->fp_slot != 0;
		if (step->fp_slot && is_consumed(search, i))
			fits = add_word(memo, &(struct mf_nesting_word){
				.distance = (int64_t)(step->fp_slot - caller->sp),
				.value = step->fp - caller->sp,
				.is_frame = true,
			});
		fits = fits && add_word(memo, &(struct mf_nesting_word){
			.distance = (int64_t)(step->pc_slot - caller->sp),
			.value = step->pc,
		});
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (fits)
		__atomic_store_n(&memo->pc, caller->pc, __ATOMIC_RELAXED);
}

/*
 * True if the walk ended just short of the frame of a hook that has not returned yet. If the walk had not failed, it
 * would probably have reached that frame.
 */
static bool is_near(const struct search *search)
{
	const struct mf_nesting *nesting = &search->thread->private->nesting;

	for (uint32_t i = 0; i < nesting->n; i++)
		if (nesting->marks[i].place - search->last_sp < NEAR)
			return true;
	return false;
}

bool mf_nesting_search(struct mf_thread *thread, const struct mf_registers *caller)
{
	struct search search = {
		.thread = thread,
		.caller = caller,
		.repeatable = !caller->exact,
		.last_sp = caller->sp,
	};
	int saved = errno;
	bool nested;

	drop_below(thread, caller);
	if (!thread->private->nesting.n) {
		mf_thread_local.inside &= (uint8_t)~MF_INSIDE_OWN;
		return false;
	}
	if (!mf_unwind_frames(caller, DEPTH, visit, &search))
		nested = is_near(&search);
	else if (search.found || search.is_skipped || search.behind_signal)
		nested = !search.behind_signal;
	else
		/*
		 * The walk ended without reaching a hook's frame. If the walk has guessed a frame, or has found no
		 * frame at all, it may have missed the hook. So check whether the frame of a hook that has not returned
		 * lies just above the last frame found.
		 */
		nested = (search.is_guess || search.last_sp == caller->sp) && is_near(&search);
	if (nested && search.repeatable && search.found)
		remember(&search);
	errno = saved;
	return nested;
}
