// SPDX-License-Identifier: GPL-2.0
// Walks the current thread's call stack with libgcc's unwinder, on processors for which the shim has no unwinder of
// its own. libgcc trusts the unwind rules and reads whatever they point to. It is also twenty times slower.

#include "unwind.h"

#ifndef __x86_64__

#include <unwind.h>

/* Maximum number of the shim's own frames, which libgcc's unwinder reports before those of the program. */
#define OWN_FRAMES_MAX 16u

struct complete_walk {
	struct mf_walk *walk;
	uint64_t caller;
	uint32_t own, depth;
};

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *data)
{
	struct complete_walk *complete = data;
	struct mf_walk *walk = complete->walk;
	uint64_t pc = _Unwind_GetIP(context);

	if (!walk->n && pc != complete->caller)
		return ++complete->own < OWN_FRAMES_MAX ? _URC_NO_REASON : _URC_END_OF_STACK;
	if (!pc || walk->n == complete->depth)
		return _URC_END_OF_STACK;
	walk->fresh[walk->n++].pc = pc;
	return _URC_NO_REASON;
}

/* Always walks the whole stack, since libgcc's unwinder can only start at the current frame. */
static void walk_completely(struct mf_walk *walk, const struct mf_registers *caller, uint32_t depth)
{
	struct complete_walk complete = { .walk = walk, .caller = caller->pc, .depth = depth };

	walk->n = 0;
	_Unwind_Backtrace(visit, &complete);
	if (!walk->n)
		/* The caller is known even if the unwinder fails, so the walk has at least one frame. */
		walk->fresh[walk->n++].pc = caller->pc;
	for (uint32_t i = 0; i < walk->n; i++)
		walk->frames[i] = (struct mf_walk_frame){ .pc = walk->fresh[walk->n - 1 - i].pc };
	walk->frames[walk->n - 1].exact = caller->exact;
	walk->n_known = 0;
	walk->complete = walk->lost = false;
	walk->repeatable = false;
}

struct complete_visit {
	mf_unwind_visit *visit;
	void *data;
	/* registers of the previous frame; pc is 0 while the walk is still in the shim's own frames */
	struct mf_registers registers;
	uint64_t caller;
	uint32_t own, depth;
	bool stopped; /* true if the callback @visit has asked to stop the walk */
};

static _Unwind_Reason_Code visit_one(struct _Unwind_Context *context, void *data)
{
	struct complete_visit *complete = data;
	struct mf_walk_frame frame = { .sp = complete->registers.sp, .pc = complete->registers.pc };
	int exact = 0;

	complete->registers.pc = _Unwind_GetIPInfo(context, &exact);
	complete->registers.sp = _Unwind_GetCFA(context);
	complete->registers.exact = exact;
	if (!frame.pc) {
		if (complete->registers.pc == complete->caller)
			return _URC_NO_REASON;
		complete->registers.pc = 0;
		return ++complete->own < OWN_FRAMES_MAX ? _URC_NO_REASON : _URC_END_OF_STACK;
	}
	complete->stopped = complete->registers.pc && !complete->visit(&frame, &complete->registers, complete->data);
	return complete->registers.pc && !complete->stopped && --complete->depth ? _URC_NO_REASON :
										  _URC_END_OF_STACK;
}

/*
 * Returns true only if @visit_frame stopped the walk, since libgcc does not distinguish between the end of the stack
 * and a failure.
 */
static bool visit_completely(const struct mf_registers *caller, uint32_t depth, mf_unwind_visit *visit_frame, void *data)
{
	struct complete_visit complete = { .visit = visit_frame, .data = data, .caller = caller->pc, .depth = depth };

	_Unwind_Backtrace(visit_one, &complete);
	return complete.stopped;
}

/*
 * Does the work of mf_unwind_merged(), which merges cycles of recursive calls. Frames beyond the innermost MF_DEPTH_MAX
 * are ignored, even if merging makes room for them in @pcs.
 */
static uint32_t merge_completely(uint64_t *pcs, const struct mf_registers *caller, uint32_t depth,
				 uint32_t longest, struct mf_walk *scratch)
{
	uint32_t n = 0;

	walk_completely(scratch, caller, MF_DEPTH_MAX);
	for (uint32_t i = scratch->n; i-- > 0 && n < depth;)
		n = mf_unwind_merge_cycle(pcs, n, scratch->frames[i].pc, longest);
	return n;
}

bool mf_unwind_frames(const struct mf_registers *caller, uint32_t depth, mf_unwind_visit *visit_frame, void *data)
{
	return visit_completely(caller, depth, visit_frame, data);
}

void mf_unwind(struct mf_walk *walk, const struct mf_registers *caller, uint32_t depth)
{
	walk_completely(walk, caller, depth < MF_DEPTH_MAX ? depth : MF_DEPTH_MAX);
}

uint32_t mf_unwind_merged(uint64_t *pcs, const struct mf_registers *caller, uint32_t depth,
			  uint32_t longest, struct mf_walk *scratch)
{
	return merge_completely(pcs, caller, depth, longest, scratch);
}

uint64_t mf_unwind_stack_end(uint64_t sp)
{
	return sp;
}

void mf_unwind_forget(uint64_t start, uint64_t end)
{
}

#endif
