// SPDX-License-Identifier: GPL-2.0
// The present thread's call stack.
//
// Frames are undone by the rules of .eh_frame, remembered by return address; code that has none (made
// at run time, or assembly) is taken to keep a frame pointer, as most of it does. A frame that these
// cannot express, and a machine other than x86-64, is left to libgcc's unwinder, which knows all of
// DWARF and costs twenty times as much. Neither allocates, takes a lock or opens a file; Debian's
// libunwind would be linked as a shared object into the program, where its exception functions
// would stand in for libgcc's.
//
// Successive stacks have most of their frames in common. A walk ends where it meets a frame of the
// one before it, with the same registers, if all words that led on from there are unchanged. They are
// looked at from that frame outwards, each only after those before it were found right: so nothing
// is read that a walk from the start would not have read, also on stacks that come and go.

#include "unwind.h"

#include <stddef.h>
#include <string.h>
#include <unwind.h>

#include "own_stack.h"
#include "readable.h"
#include "rules.h"
#include "unwind/callsite.h"

/* libgcc's unwinder begins with the shim's own frames. */
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

/* By libgcc, from the start, since its unwinder cannot be entered halfway. */
static void walk_completely(struct mf_walk *walk, const struct mf_registers *caller, uint32_t depth)
{
	struct complete_walk complete = { .walk = walk, .caller = caller->pc, .depth = depth };

	walk->n = 0;
	_Unwind_Backtrace(visit, &complete);
	if (!walk->n)
		/* The caller is certain even where the unwinder is lost. */
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
	struct mf_registers registers; /* of the frame before; pc 0: it is one of the shim's own */
	uint64_t caller;
	uint32_t own, depth;
	bool stopped; /* by who visits */
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

/* Whether it ends where the stack does is not told: then it may have been lost. */
static bool visit_completely(const struct mf_registers *caller, uint32_t depth, mf_unwind_visit *visit_frame, void *data)
{
	struct complete_visit complete = { .visit = visit_frame, .data = data, .caller = caller->pc, .depth = depth };

	_Unwind_Backtrace(visit_one, &complete);
	return complete.stopped;
}

/* Adds @pc as merging asks for. Returns the new number of addresses. */
static uint32_t merge(uint64_t *pcs, uint32_t n, uint64_t pc, uint32_t longest)
{
	pcs[n] = pc;
	for (uint32_t j = 1; j <= longest && j <= n; j++)
		if (pcs[n - j] == pc)
			return n + 1 - j;
	return n + 1;
}

/* A stack deeper than MF_DEPTH_MAX is merged as far as that. */
static uint32_t merge_completely(uint64_t *pcs, const struct mf_registers *caller, uint32_t depth,
				 uint32_t longest, struct mf_walk *scratch)
{
	uint32_t n = 0;

	walk_completely(scratch, caller, MF_DEPTH_MAX);
	for (uint32_t i = scratch->n; i-- > 0 && n < depth;)
		n = merge(pcs, n, scratch->frames[i].pc, longest);
	return n;
}

#ifdef __x86_64__

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* Bytes between a frame and the next at most, on a stack of which nothing is known. */
#define FRAME_MAX (1ull << 20)

/* The same, within which both are taken to lie on that stack, which is there as long as either. */
#define FRAME_NEAR (64ull << 10)

#define PAGE_BITS 12u
#define PAGE_SIZE (1ull << PAGE_BITS)

/*
 * Addresses to which a guess led, and in the lowest bit, whether there is a call before them: each in one
 * word, too.
 */
#define LINK_BITS 10u

static uint64_t links[1u << LINK_BITS];

/* The address whose rule undoes a frame. */
static inline uint64_t rule_address(uint64_t pc, bool exact)
{
	return exact ? pc : pc - 1;
}

void mf_unwind_forget(uint64_t start, uint64_t end)
{
	mf_rules_forget(start, end);
	for (uint32_t i = 0; i < 1u << LINK_BITS; i++)
		mf_rules_clear(&links[i], 1, start, end);
}

static inline uint64_t load(uint64_t address)
{
	return *(const uint64_t *)(uintptr_t)address;
}

uint64_t mf_unwind_stack_end(uint64_t sp)
{
	uint64_t end = mf_own_stack()->end;

	return sp < end && end - sp < MF_STACK_MAX ? end : sp + FRAME_MAX;
}

enum step {
	STEP_DONE,
	STEP_END,     /* there is no caller */
	STEP_GUESSED, /* done: from here on, frames may be none */
	STEP_LOST,    /* the caller cannot be found */
	STEP_ASTRAY,  /* the same, now: there is no memory where it should be found */
	STEP_UNKNOWN, /* it takes a complete unwinder */
};

static inline bool is_end(enum step taken)
{
	return taken == STEP_END || taken == STEP_LOST || taken == STEP_ASTRAY;
}

static inline bool is_guess(enum step taken)
{
	return taken == STEP_GUESSED || taken == STEP_LOST || taken == STEP_ASTRAY;
}

/* Can the word at @address be read? Without a system call where it is near to one that can; 0: none is known. */
static bool is_there(uint64_t address, uint64_t known)
{
	return (known && address >> PAGE_BITS == known >> PAGE_BITS &&
		(address + 7) >> PAGE_BITS == known >> PAGE_BITS) ||
	       mf_own_stack_reaches(address) || mf_readable_word(address);
}

/* Does the code before @pc, if there is any, end in a call? */
static bool follows_call(uint64_t pc)
{
	uint64_t page = (pc - 1) & ~(PAGE_SIZE - 1);
	size_t size = MF_CALLSITE_BYTES;
	int64_t distance;

	if (!mf_readable_word(page))
		return false;
	/* Code may begin with a page. */
	if (pc - size < page && !mf_readable_word(page - PAGE_SIZE))
		size = pc - page;
	return mf_callsite_ends((const uint8_t *)(uintptr_t)pc, size, &distance);
}

/*
 * Can somebody be going to return to @pc, to which a guess has led? What a JIT keeps beside the frame pointer
 * that it saves need not be that, and what rbp holds need not be a frame pointer.
 */
static __attribute__((noinline)) bool is_return_address(uint64_t pc)
{
	uint64_t *slot = &links[(pc * 0x9e3779b97f4a7c15ull) >> (64 - LINK_BITS)];
	uint64_t known = __atomic_load_n(slot, __ATOMIC_RELAXED);
	bool follows;

	if (known && known >> 1 == pc)
		return known & 1;
	follows = !(pc >> 47) && follows_call(pc);
	if (mf_rules_keep_guesses && !(pc >> 47)) {
		mf_rules_note_guess();
		__atomic_store_n(slot, pc << 1 | follows, __ATOMIC_RELAXED);
	}
	return follows;
}

/*
 * A guess, but a checked one. What lies between @registers and the end of the thread's stack need not be
 * stack, where a coroutine has one of its own.
 */
static __attribute__((noinline)) enum step step_by_frame_pointer(struct mf_registers *registers,
								 struct mf_walk_frame *frame)
{
	uint64_t fp = registers->fp;

	frame->consumes_fp = true;
	if (fp & 7 || fp < registers->sp || fp + 16 > mf_unwind_stack_end(registers->sp))
		return STEP_LOST;
	if (!is_there(fp, registers->sp - 8) || !is_there(fp + 8, fp))
		return STEP_ASTRAY;
	frame->fp_slot = fp;
	frame->pc_slot = fp + 8;
	registers->fp = load(frame->fp_slot);
	registers->pc = load(frame->pc_slot);
	registers->sp = fp + 16;
	registers->exact = false;
	return registers->pc ? STEP_GUESSED : STEP_LOST;
}

/* The address of general register @number in the context that the kernel left at @sp. */
static uint64_t saved_register(uint64_t sp, int number)
{
	return sp + offsetof(ucontext_t, uc_mcontext.gregs) + (uint64_t)number * sizeof(greg_t);
}

static __attribute__((noinline)) enum step leave_signal_frame(struct mf_registers *registers, struct mf_walk_frame *frame)
{
	uint64_t sp = registers->sp;

	frame->pc_slot = saved_register(sp, REG_RIP);
	frame->fp_slot = saved_register(sp, REG_RBP);
	frame->other_slot = saved_register(sp, REG_RSP);
	frame->other = load(frame->other_slot);
	registers->pc = load(frame->pc_slot);
	registers->fp = load(frame->fp_slot);
	registers->sp = frame->other;
	registers->exact = true;
	return registers->pc ? STEP_DONE : STEP_END;
}

/* Can what leave_signal_frame() reads be read? @known: see is_there(). */
static bool is_signal_frame(uint64_t sp, uint64_t known)
{
	return is_there(saved_register(sp, REG_RBP), known) && is_there(saved_register(sp, REG_RSP), known) &&
	       is_there(saved_register(sp, REG_RIP), known);
}

/*
 * Rules may be wrong, or mean another stack: they lead from a frame at @sp to words that are not known to be on
 * the thread's own stack. The kernel is asked about these. Where it must not be, a step that stays on the stack
 * is trusted, so that stacks are not cut there.
 */
static __attribute__((noinline)) enum step check_words(uint64_t sp, bool exact, uint64_t pc_slot, uint64_t fp_slot)
{
	const struct mf_own_stack *own = mf_own_stack();
	bool is_near = pc_slot >= sp && pc_slot - sp < FRAME_NEAR;

	if (!is_there(pc_slot, exact ? 0 : sp - 8) || (fp_slot && !is_there(fp_slot, pc_slot)))
		return is_near && mf_readable_is_forbidden() ? STEP_DONE : STEP_ASTRAY;
	if (mf_own_stack_holds(own, pc_slot) && (!fp_slot || mf_own_stack_holds(own, fp_slot)) && pc_slot >= sp)
		return STEP_DONE;
	return is_near && !mf_own_stack_holds(own, sp) ? STEP_DONE : STEP_GUESSED;
}

/* Steps that are rare, of a copy: see step(). */
static enum step step_rarely(struct mf_registers *registers, struct mf_walk_frame *frame, uint8_t cfa)
{
	struct mf_registers copy = *registers;
	enum step taken;

	if (cfa != MF_CFA_SIGNAL)
		taken = step_by_frame_pointer(&copy, frame);
	else if (is_signal_frame(copy.sp, copy.exact ? 0 : copy.sp - 8) || mf_readable_is_forbidden())
		taken = leave_signal_frame(&copy, frame);
	else
		taken = STEP_ASTRAY;
	*registers = copy;
	return taken;
}

/*
 * From @registers to those of the caller; notes in @frame how. Inlined, and nobody else has their
 * address, so that they are the processor's, too: words that are stored one by one and loaded in pairs
 * have to wait for the stores.
 */
static inline __attribute__((always_inline)) enum step step(struct mf_registers *registers, struct mf_walk_frame *frame,
							    const struct mf_own_stack *own)
{
	uint64_t cfa, fp = registers->fp, address = rule_address(registers->pc, registers->exact);
	uint64_t fp_slot = 0;
	enum step taken = STEP_DONE;
	uint16_t known = mf_rules_known(address);
	struct mf_cfi_rule rule;

	if (__builtin_expect(known, 1))
		rule = mf_rules_table[known - 1];
	else
		rule = mf_rules_find(address);
	frame->rule = known;

	switch (rule.cfa) {
	case MF_CFA_SP:
		cfa = registers->sp + (uint64_t)(int64_t)rule.cfa_offset;
		break;
	case MF_CFA_FP:
		frame->consumes_fp = true;
		cfa = fp + (uint64_t)(int64_t)rule.cfa_offset;
		break;
	case MF_CFA_FP_INDIRECT:
		cfa = fp + (uint64_t)(int64_t)rule.cfa_offset;
		if (!mf_own_stack_holds(own, cfa))
			taken = check_words(registers->sp, registers->exact, cfa, 0);
		if (taken == STEP_ASTRAY)
			return taken;
		frame->consumes_fp = true;
		frame->other_slot = cfa;
		cfa = frame->other = load(frame->other_slot);
		break;
	case MF_CFA_FP_LINK:
		if (!mf_own_stack_holds(own, fp))
			taken = check_words(registers->sp, registers->exact, fp, 0);
		if (taken == STEP_ASTRAY)
			return taken;
		frame->consumes_fp = true;
		frame->other_slot = fp;
		frame->other = load(fp);
		cfa = frame->other + (uint64_t)(int64_t)rule.cfa_offset;
		break;
	case MF_CFA_END:
		return STEP_END;
	case MF_CFA_BORDER:
		/*
		 * Behind no code, but where some begins: nobody called that. makecontext has put its
		 * address there, to be returned to, and there is nothing beyond.
		 */
		if (!registers->exact)
			return STEP_END;
		return step_rarely(registers, frame, rule.cfa);
	case MF_CFA_NONE:
	case MF_CFA_SIGNAL:
		return step_rarely(registers, frame, rule.cfa);
	default:
		return STEP_UNKNOWN;
	}
	if (rule.fp == MF_FP_AT_CFA) {
		fp_slot = cfa + (uint64_t)(int64_t)rule.fp_offset;
	} else if (rule.fp == MF_FP_AT_FP) {
		frame->consumes_fp = true;
		fp_slot = fp + (uint64_t)(int64_t)rule.fp_offset;
	}
	/* A stack only shrinks towards its caller. */
	if (__builtin_expect(cfa <= registers->sp || !mf_own_stack_holds(own, cfa - 8) ||
			     (fp_slot && !mf_own_stack_holds(own, fp_slot)), 0)) {
		enum step checked = check_words(registers->sp, registers->exact, cfa - 8, fp_slot);

		if (checked != STEP_DONE)
			taken = checked;
		if (taken == STEP_ASTRAY)
			return taken;
	}
	if (fp_slot) {
		frame->fp_slot = fp_slot;
		registers->fp = load(fp_slot);
	}
	frame->pc_slot = cfa - 8;
	registers->pc = load(frame->pc_slot);
	registers->sp = cfa;
	registers->exact = false;
	return registers->pc ? taken : STEP_END;
}

/*
 * The same where a guess has led to @registers, so that the frame may be none: can all be read that step()
 * reads?
 */
static bool is_frame(const struct mf_registers *registers)
{
	struct mf_cfi_rule rule = mf_rules_of(rule_address(registers->pc, registers->exact));
	uint64_t fp = registers->fp, cfa = fp + (uint64_t)(int64_t)rule.cfa_offset;
	/* The address that led here was read. */
	uint64_t known = registers->exact ? 0 : registers->sp - 8;

	switch (rule.cfa) {
	case MF_CFA_SP:
		cfa = registers->sp + (uint64_t)(int64_t)rule.cfa_offset;
		break;
	case MF_CFA_FP:
		break;
	case MF_CFA_FP_INDIRECT:
		if (!is_there(cfa, known))
			return false;
		cfa = load(cfa);
		break;
	case MF_CFA_FP_LINK:
		if (!is_there(fp, known))
			return false;
		cfa = load(fp) + (uint64_t)(int64_t)rule.cfa_offset;
		break;
	case MF_CFA_SIGNAL:
		return mf_readable_word(saved_register(registers->sp, REG_RBP)) &&
		       mf_readable_word(saved_register(registers->sp, REG_RSP)) &&
		       mf_readable_word(saved_register(registers->sp, REG_RIP));
	default:
		return true; /* nothing is read, or step_by_frame_pointer() sees to it */
	}
	if (rule.fp == MF_FP_AT_CFA)
		fp = cfa + (uint64_t)(int64_t)rule.fp_offset;
	else if (rule.fp == MF_FP_AT_FP)
		fp += (uint64_t)(int64_t)rule.fp_offset;
	else
		fp = cfa - 8;
	return is_there(cfa - 8, known) && is_there(fp, cfa - 8);
}

static __attribute__((noinline)) enum step step_carefully(struct mf_registers *registers,
							  struct mf_walk_frame *frame,
							  const struct mf_own_stack *own)
{
	struct mf_registers copy = *registers;
	enum step taken = frame->is_link ? step_by_frame_pointer(&copy, frame) :
			  is_frame(&copy) ? step(&copy, frame, own) : STEP_ASTRAY;

	*registers = copy;
	return taken;
}

/* Will what was read to find @frame's caller be there as long as the thread is? */
static bool lasts(const struct mf_walk_frame *frame)
{
	return (!frame->pc_slot || mf_own_stack_reaches(frame->pc_slot)) &&
	       (!frame->fp_slot || mf_own_stack_reaches(frame->fp_slot)) &&
	       (!frame->other_slot || mf_own_stack_reaches(frame->other_slot));
}

/*
 * And what the last walk read to find those of its outermost @n frames? Else they are not to be looked at
 * behind a guess, which may lead to where they were.
 */
static __attribute__((noinline)) bool all_last(const struct mf_walk *walk, uint32_t n)
{
	while (n && lasts(&walk->frames[n - 1]))
		n--;
	return !n;
}

/*
 * Looks at the outermost @n words, the innermost of them first. Returns 0 if all are what they were;
 * else the number of the first that is not, counted from 1.
 */
static inline uint32_t find_changed(const struct mf_walk *walk, uint32_t n)
{
	const struct mf_walk_word *word = walk->words + n;

	while (word != walk->words && load(word[-1].slot) == word[-1].value)
		word--;
	return (uint32_t)(word - walk->words);
}

/* Frame @i, at the place where it was, goes on at @pc now. False if that is undone in another way. */
static inline bool redirect(struct mf_walk *walk, uint32_t i, uint64_t pc)
{
	struct mf_walk_frame *frame = &walk->frames[i];
	uint16_t rule = mf_rules_known(rule_address(pc, frame->exact));

	if (!rule || rule != frame->rule || (frame->is_guessed && !is_return_address(pc)))
		return false;
	frame->pc = pc;
	if (walk->n_known > i)
		walk->n_known = i;
	return true;
}

/*
 * Whether the stack is the last walk's but for the addresses at which some callers go on, which are
 * put right: the same function, from another place of the same caller. If it is not, only frames
 * from *@at outwards are what they were.
 */
static inline bool goes_again(struct mf_walk *walk, const struct mf_registers *caller, uint32_t *at)
{
	uint32_t i = walk->n - 1, n = walk->frames[i].n_words;
	const struct mf_walk_frame *frame = &walk->frames[i];

	if (frame->sp != caller->sp || frame->exact != caller->exact ||
	    (frame->needs_fp && frame->fp != caller->fp))
		return false;
	if (frame->pc != caller->pc && !redirect(walk, i, caller->pc))
		return false;
	while ((n = find_changed(walk, n))) {
		struct mf_walk_word *word = &walk->words[n - 1];
		uint64_t value = load(word->slot);

		*at = i = walk->owners[n - 1];
		if (!i || word->slot != walk->frames[i].pc_slot || !redirect(walk, i - 1, value))
			return false;
		word->value = value;
		n--;
	}
	return true;
}

/*
 * Looks for the frame that @registers describe among those of the last walk from *@at outwards. True
 * if it is there, at *@at, and the rest of the stack is as it was; otherwise *@at is where to go on
 * looking for the next frame.
 */
static bool meets(const struct mf_walk *walk, const struct mf_registers *registers, bool is_guessed,
		  uint32_t *at)
{
	uint32_t i = *at;
	const struct mf_walk_frame *frame;
	uint32_t changed;

	while (i && walk->frames[i - 1].sp < registers->sp)
		i--;
	*at = i;
	if (!i)
		return false;
	frame = &walk->frames[i - 1];
	if (frame->sp != registers->sp || frame->pc != registers->pc ||
	    frame->exact != registers->exact || frame->is_guessed != is_guessed ||
	    (frame->needs_fp && frame->fp != registers->fp))
		return false;
	changed = find_changed(walk, frame->n_words);
	if (!changed) {
		*at = i;
		return true;
	}
	/* Frames up to this one are what they were, but have another caller now. */
	*at = walk->owners[changed - 1];
	return false;
}

/* The words of frame @i, outside of which all is in place. What the walk read first stands last. */
static inline void add_words(struct mf_walk *walk, uint32_t i)
{
	struct mf_walk_frame *frame = &walk->frames[i];
	uint32_t n = i ? frame[-1].n_words : 0;

	if (frame->fp_slot && i && frame[-1].needs_fp) {
		walk->owners[n] = (uint8_t)i;
		walk->words[n++] = (struct mf_walk_word){ frame->fp_slot, frame[-1].fp };
	}
	if (frame->pc_slot) {
		/* That of the outermost one made it the last. */
		walk->owners[n] = (uint8_t)i;
		walk->words[n++] = (struct mf_walk_word){ frame->pc_slot, i ? frame[-1].pc : 0 };
	}
	if (frame->other_slot) {
		walk->owners[n] = (uint8_t)i;
		walk->words[n++] = (struct mf_walk_word){ frame->other_slot, frame->other };
	}
	frame->n_words = (uint16_t)n;
}

/* Puts the @n fresh frames on top of the outermost @kept old ones. */
static void put(struct mf_walk *walk, uint32_t kept, uint32_t n)
{
	bool needs_fp = kept && walk->frames[kept - 1].needs_fp;

	for (uint32_t i = 0; i < n; i++) {
		struct mf_walk_frame *frame = &walk->frames[kept + i];

		*frame = walk->fresh[n - 1 - i];
		needs_fp = frame->consumes_fp || (!frame->fp_slot && needs_fp);
		frame->needs_fp = needs_fp;
		add_words(walk, kept + i);
	}
	walk->n = kept + n;
	if (walk->n_known > kept)
		walk->n_known = kept;
}

/* Takes over the outermost @met frames under @n fresh ones; no more than @depth in all. */
static void take_over(struct mf_walk *walk, uint32_t met, uint32_t n, uint32_t depth)
{
	uint32_t kept = met < depth - n ? met : depth - n;

	if (kept < met) {
		memmove(walk->frames, walk->frames + (met - kept), kept * sizeof(*walk->frames));
		/* Another outermost frame, another path in the trie; and beyond it nothing is asked. */
		walk->n_known = 0;
		walk->frames[0].pc_slot = walk->frames[0].fp_slot = 0;
		walk->frames[0].other_slot = 0;
		walk->complete = walk->lost = false;
		for (uint32_t i = 0; i < kept; i++)
			add_words(walk, i);
	}
	put(walk, kept, n);
}

/* Only the outermost @at frames of the last walk are what they were. */
static __attribute__((noinline)) void walk_anew(struct mf_walk *walk, const struct mf_registers *caller,
						uint32_t depth, uint32_t at)
{
	struct mf_registers registers = {
		.pc = caller->pc, .sp = caller->sp, .fp = caller->fp, .exact = caller->exact,
	};
	const struct mf_own_stack *own = mf_own_stack_at(registers.sp);
	bool guessed = false, repeatable = true;
	enum step taken = STEP_DONE;
	uint32_t n = 0;

	while (!is_end(taken) && n < depth) {
		struct mf_walk_frame *frame = &walk->fresh[n];

		if (at && meets(walk, &registers, taken == STEP_GUESSED, &at)) {
			if (walk->complete || walk->lost || n + at >= depth) {
				take_over(walk, at, n, depth);
				walk->repeatable = repeatable;
				return;
			}
			at = 0; /* it was cut where this one goes on */
		}
		*frame = (struct mf_walk_frame){
			.sp = registers.sp,
			.pc = registers.pc,
			.fp = registers.fp,
			.exact = registers.exact,
			.is_guessed = taken == STEP_GUESSED,
			.is_link = taken == STEP_GUESSED && !is_return_address(registers.pc),
		};
		if (++n == depth)
			break;
		taken = __builtin_expect(guessed, 0) ? step_carefully(&registers, frame, own) :
						       step(&registers, frame, own);
		if (__builtin_expect(taken == STEP_UNKNOWN, 0)) {
			if (!guessed) {
				walk_completely(walk, caller, depth);
				return;
			}
			/* A complete unwinder would not come as far as here. */
			taken = STEP_LOST;
		}
		if (__builtin_expect(is_guess(taken), 0)) {
			if (!guessed && !all_last(walk, at))
				at = 0;
			guessed = true;
			/* Else other code may be there another time. */
			repeatable &= (frame->is_link ? mf_rules_keep_guesses : frame->rule != 0) &&
				      taken != STEP_ASTRAY;
		}
		if (__builtin_expect(guessed, 0))
			repeatable &= lasts(frame);
	}
	put(walk, 0, n);
	walk->complete = taken == STEP_END;
	walk->lost = taken == STEP_LOST;
	walk->repeatable = repeatable;
}

void mf_unwind(struct mf_walk *walk, const struct mf_registers *caller, uint32_t depth)
{
	uint32_t at = walk->repeatable ? walk->n : 0;

	if (depth > MF_DEPTH_MAX)
		depth = MF_DEPTH_MAX;
	if (!at || at > depth || (!walk->complete && !walk->lost && at < depth) ||
	    !goes_again(walk, caller, &at))
		walk_anew(walk, caller, depth, at);
}

uint32_t mf_unwind_merged(uint64_t *pcs, const struct mf_registers *caller, uint32_t depth,
			  uint32_t longest, struct mf_walk *scratch)
{
	struct mf_registers registers = *caller;
	const struct mf_own_stack *own = mf_own_stack_at(registers.sp);
	struct mf_walk_frame *frame = &scratch->fresh[0];
	enum step taken = STEP_DONE;
	bool guessed = false;
	uint32_t n = 0;

	while (n < depth && !is_end(taken)) {
		frame->is_link = taken == STEP_GUESSED && !is_return_address(registers.pc);
		if (!frame->is_link)
			n = merge(pcs, n, registers.pc, longest);
		taken = guessed ? step_carefully(&registers, frame, own) : step(&registers, frame, own);
		guessed |= taken == STEP_GUESSED;
		if (taken == STEP_UNKNOWN && !guessed)
			return merge_completely(pcs, caller, depth, longest, scratch);
		if (taken == STEP_UNKNOWN)
			taken = STEP_LOST;
	}
	return n;
}

bool mf_unwind_frames(const struct mf_registers *caller, uint32_t depth, mf_unwind_visit *visit_frame, void *data)
{
	struct mf_registers registers = *caller;
	const struct mf_own_stack *own = mf_own_stack_at(registers.sp);
	enum step taken = STEP_DONE;
	bool guessed = false;

	for (; depth; depth--) {
		struct mf_walk_frame frame = {
			.sp = registers.sp,
			.pc = registers.pc,
			.fp = registers.fp,
			.exact = registers.exact,
			.is_guessed = taken == STEP_GUESSED,
			.is_link = taken == STEP_GUESSED && !is_return_address(registers.pc),
		};

		taken = guessed ? step_carefully(&registers, &frame, own) : step(&registers, &frame, own);
		if (taken == STEP_UNKNOWN && guessed)
			return false;
		if (taken == STEP_UNKNOWN)
			return visit_completely(caller, depth, visit_frame, data);
		if (is_end(taken))
			return taken == STEP_END;
		guessed |= taken == STEP_GUESSED;
		frame.is_guessed = guessed;
		if (!visit_frame(&frame, &registers, data))
			return true;
	}
	return false;
}

#else

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
