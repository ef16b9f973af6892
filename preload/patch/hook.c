// SPDX-License-Identifier: GPL-2.0
// Hooks that replace the program's own allocation functions.
//
// All code here, and the fast path for events (fastpath.c), is compiled to use only general-purpose registers, which
// the assembly saves, and makes no direct calls to code outside the shim. Anything else must be called through
// mf_xstate_call().

#include "hook.h"

#include <unistd.h>
#include <unwind.h>

#include "event/allocator.h"
#include "event/nesting.h"
#include "core/real.h"
#include "core/session.h"
#include "core/thread.h"
#include "event/trace.h"
#include "event/slowpath.h"
#include "core/xstate.h"

#ifdef __x86_64__

#define PAGE_SIZE 4096u

static mf_hook_take take_size;

/*
 * Calls the original with the arguments and rax from @frame, and stores its result in the frame's rax. The frame's
 * other registers keep their values from before the call: registers that the original does not change have these values
 * anyway, and no caller relies on the others. rax, too, is restored from the frame: it is the result or, for free(), a
 * register that the caller may expect to be unchanged.
 */
void mf_hook_call(struct mf_hook_frame *frame);

_Unwind_Reason_Code mf_hook_unwound(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
				    struct _Unwind_Exception *exception, struct _Unwind_Context *context);

/*
 * mf_hook_entry() and mf_hook_call(). At mf_hook_entry(), the detour has pushed rbp and the address of the struct
 * mf_hook below the return address. The frame sizes of both functions preserve the stack's alignment, whatever that
 * alignment is.
 *
 * If mf_hook_entry() continues with the original function as if there were no hook, it jumps to an address that is
 * stored below the stack pointer, in the red zone, because no register is free for the address.
 */
__asm__(
"	.pushsection .text\n"
"	.p2align 4\n"
"	.globl	mf_hook_entry\n"
"	.hidden	mf_hook_entry\n"
"	.type	mf_hook_entry, @function\n"
"mf_hook_entry:\n"
"	.cfi_startproc\n"
"	.cfi_def_cfa rsp, 24\n"
"	.cfi_offset rbp, -16\n"
"	leaq	8(%rsp), %rbp\n"
"	.cfi_def_cfa rbp, 16\n"
"	pushq	%rax\n"
"	pushq	%rcx\n"
"	pushq	%rdx\n"
"	pushq	%rsi\n"
"	pushq	%rdi\n"
"	pushq	%r8\n"
"	pushq	%r9\n"
"	pushq	%r10\n"
"	pushq	%r11\n"
"	movq	%rsp, %rdi\n"
"	movq	-8(%rbp), %rax\n"
"	call	*(%rax)\n"
"	testb	%al, %al\n"
"	je	1f\n"
"	popq	%r11\n"
"	popq	%r10\n"
"	popq	%r9\n"
"	popq	%r8\n"
"	popq	%rdi\n"
"	popq	%rsi\n"
"	popq	%rdx\n"
"	popq	%rcx\n"
"	popq	%rax\n"
"	leaq	8(%rsp), %rsp\n"
"	popq	%rbp\n"
"	.cfi_def_cfa rsp, 8\n"
"	.cfi_same_value rbp\n"
"	ret\n"
"	.cfi_def_cfa rbp, 16\n"
"	.cfi_offset rbp, -16\n"
"1:	movq	-8(%rbp), %rax\n"
"	movq	8(%rax), %rax\n"
"	movq	%rax, -8(%rbp)\n"
"	popq	%r11\n"
"	popq	%r10\n"
"	popq	%r9\n"
"	popq	%r8\n"
"	popq	%rdi\n"
"	popq	%rsi\n"
"	popq	%rdx\n"
"	popq	%rcx\n"
"	popq	%rax\n"
"	leaq	8(%rsp), %rsp\n"
"	popq	%rbp\n"
"	.cfi_def_cfa rsp, 8\n"
"	.cfi_same_value rbp\n"
"	jmp	*-16(%rsp)\n"
"	.cfi_endproc\n"
"	.size	mf_hook_entry, . - mf_hook_entry\n"
"\n"
"	.p2align 4\n"
"	.globl	mf_hook_call\n"
"	.hidden	mf_hook_call\n"
"	.type	mf_hook_call, @function\n"
"mf_hook_call:\n"
"	.cfi_startproc\n"
	/* 0x1b: the address is encoded as a 4-byte distance (DW_EH_PE_pcrel | DW_EH_PE_sdata4) */
"	.cfi_personality 0x1b, mf_hook_unwound\n"
"	pushq	%rbp\n"
"	.cfi_def_cfa_offset 16\n"
"	.cfi_offset rbp, -16\n"
"	movq	%rsp, %rbp\n"
"	.cfi_def_cfa_register rbp\n"
"	pushq	%rdi\n"
"	movq	72(%rdi), %rax\n"
"	pushq	8(%rax)\n"
"	movq	40(%rdi), %rsi\n"
"	movq	48(%rdi), %rdx\n"
"	movq	56(%rdi), %rcx\n"
"	movq	64(%rdi), %rax\n"
"	movq	32(%rdi), %rdi\n"
"	call	*(%rsp)\n"
"	.globl	mf_hook_returns\n"
"	.hidden	mf_hook_returns\n"
"mf_hook_returns:\n"
"	movq	-8(%rbp), %rcx\n"
"	movq	%rax, 64(%rcx)\n"
"	leave\n"
"	.cfi_def_cfa rsp, 8\n"
"	.cfi_same_value rbp\n"
"	ret\n"
"	.cfi_endproc\n"
"	.size	mf_hook_call, . - mf_hook_call\n"
"	.popsection\n");

/* The hook's personality routine: every unwinder calls it when an exception propagates out of the original function. */
_Unwind_Reason_Code mf_hook_unwound(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
				    struct _Unwind_Exception *exception, struct _Unwind_Context *context)
{
	if (actions & _UA_CLEANUP_PHASE)
		mf_nesting_unwound();
	return _URC_CONTINUE_UNWIND;
}

/* Returns the value that MF_FRAME has in the shim's own allocation functions: the address of the hook's frame. */
static inline const void *frame_of(const struct mf_hook_frame *frame)
{
	return &frame->rbp;
}

static inline void *pointer_to(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

/* Allocates the thread's state. If a signal handler interrupts this function, events in the handler are lost. */
static uint64_t take_thread(const void *data, uint64_t more)
{
	uint8_t inside = mf_thread_local.inside;

	mf_thread_local.inside = inside | MF_INSIDE_SHIM;
	if (inside & MF_INSIDE_SHIM || !mf_thread_get())
		mf_slowpath_lose();
	mf_thread_local.inside = inside;
	return 0;
}

static uint64_t search(const void *data, uint64_t more)
{
	return mf_nesting_search(mf_thread_local.thread, data);
}

static __attribute__((noinline)) bool is_nested(struct mf_nesting *nesting, const struct mf_hook_frame *frame)
{
	const struct mf_registers caller = MF_CALLER_OF(frame_of(frame));

	return mf_nesting_recalls(nesting, &caller) || mf_xstate_call(search, &caller, 0);
}

/* Returns the thread's nesting state, or NULL if the thread has no state. */
static inline struct mf_nesting *nesting_here(void)
{
	struct mf_thread *thread = mf_thread_local.thread;

	if (__builtin_expect(!thread, 0)) {
		mf_xstate_call(take_thread, NULL, 0);
		thread = mf_thread_local.thread;
	}
	return thread ? &thread->private->nesting : NULL;
}

/*
 * Returns the thread's nesting state, or NULL if the call must not be counted because it is nested, the process is not
 * profiled, or the thread has no state. The nesting state is in private memory, because the hooked function may fork,
 * and the child then returns to the hook but has no struct mf_thread.
 */
static inline struct mf_nesting *begin(const struct mf_hook_frame *frame)
{
	struct mf_nesting *nesting;

	if (!mf_session_is_active())
		return NULL;
	nesting = nesting_here();
	if (nesting && __builtin_expect(nesting->n, 0) && is_nested(nesting, frame))
		return NULL;
	return nesting;
}

static inline void call_original(struct mf_nesting *nesting, struct mf_hook_frame *frame,
				 const struct mf_block *resizing)
{
	const uint8_t inside = mf_thread_local.inside;

	mf_nesting_enter(nesting, frame, resizing);
	mf_thread_local.inside = inside | MF_INSIDE_OWN;
	mf_hook_call(frame);
	/*
	 * Remove the hook's mark before clearing MF_INSIDE_OWN. If a signal handler allocates in between, MF_INSIDE_OWN
	 * makes the shim look for a mark. It finds none, so the event is not nested and is counted.
	 */
	if (mf_nesting_leave(nesting, frame))
		mf_thread_local.inside = inside & (uint8_t)~MF_INSIDE_OWN;
}

/*
 * Calls the original function after the shim has handled an event. If the thread is ending, it may have released its
 * state by then. The original function is then called without marking the hook as active.
 */
static inline void call_original_then(struct mf_hook_frame *frame, const struct mf_block *resizing)
{
	struct mf_nesting *nesting = nesting_here();

	if (__builtin_expect(nesting != NULL, 1))
		call_original(nesting, frame, resizing);
	else
		mf_hook_call(frame);
}

struct block {
	const struct mf_hook_frame *frame;
	void *pointer;
	size_t size;
	size_t arguments[2]; /* the call's arguments, for the trace line */
};

static uint64_t track_block(const void *data, uint64_t more)
{
	const struct block *block = data;
	const struct mf_hook *hook = block->frame->hook;
	struct mf_registers caller;

	if (hook->take == take_size)
		MF_TRACE(hook->trace, block->size, block->pointer);
	else
		MF_TRACE(hook->trace, block->arguments[0], block->arguments[1], block->pointer);
	caller = mf_caller_by(frame_of(block->frame), MF_FUNCTION_OWN);
	mf_slowpath_alloc(block->pointer, block->size, &caller);
	return 0;
}

static __attribute__((noinline)) bool made_completely(const struct mf_hook_frame *frame, void *pointer, size_t size,
						      size_t a, size_t b)
{
	mf_xstate_call(track_block, &(struct block){ frame, pointer, size, { a, b } }, 0);
	return true;
}

/* Counts the block of @size bytes at @pointer that the original function returned. @a, @b: arguments for the trace. */
static inline bool made(const struct mf_hook_frame *frame, void *pointer, size_t size, size_t a, size_t b)
{
	bool in_hook = mf_thread_local.in_hook, done;

	mf_thread_local.in_hook = true;
	done = mf_fastpath_alloc(pointer, size, frame_of(frame), MF_FUNCTION_OWN).done;
	mf_thread_local.in_hook = in_hook;
	return __builtin_expect(done, 1) || made_completely(frame, pointer, size, a, b);
}

static bool take_size(struct mf_hook_frame *frame)
{
	const uint64_t size = frame->rdi;
	struct mf_nesting *nesting = begin(frame);

	if (!nesting)
		return false;
	call_original(nesting, frame, NULL);
	return made(frame, pointer_to(frame->rax), size, 0, 0);
}

/* Handles an allocation of @size bytes by a function with two arguments to trace, @a and @b. */
static inline bool take_two(struct mf_hook_frame *frame, size_t size, size_t a, size_t b)
{
	struct mf_nesting *nesting = begin(frame);

	if (!nesting)
		return false;
	call_original(nesting, frame, NULL);
	return made(frame, pointer_to(frame->rax), size, a, b);
}

static bool take_size_alignment(struct mf_hook_frame *frame)
{
	return take_two(frame, frame->rdi, frame->rdi, frame->rsi);
}

static bool take_alignment_size(struct mf_hook_frame *frame)
{
	return take_two(frame, frame->rsi, frame->rdi, frame->rsi);
}

static bool take_pages(struct mf_hook_frame *frame)
{
	return take_two(frame, frame->rdi, PAGE_SIZE, frame->rdi);
}

/*
 * Handles the allocation of an array, for example by calloc(n, size). If n * size overflows, the hooked function
 * returns NULL, so nothing is counted.
 */
static bool take_elements(struct mf_hook_frame *frame)
{
	return take_two(frame, frame->rdi * frame->rsi, frame->rdi, frame->rsi);
}

static bool take_result(struct mf_hook_frame *frame)
{
	void **result = pointer_to(frame->rdi);
	const uint64_t alignment = frame->rsi, size = frame->rdx;
	struct mf_nesting *nesting = begin(frame);

	if (!nesting)
		return false;
	call_original(nesting, frame, NULL);
	return made(frame, (int)frame->rax ? NULL : *result, size, alignment, size);
}

static uint64_t begin_resize(const void *data, uint64_t more)
{
	mf_allocator_resize_begin(pointer_to(more));
	return 0;
}

static uint64_t end_resize(const void *data, uint64_t more)
{
	mf_allocator_resize_end(pointer_to(more), pointer_to(((const struct mf_hook_frame *)data)->rax));
	return 0;
}

/* Counts a resize on the slow path. */
static void resize_completely(struct mf_hook_frame *frame, void *old, size_t size)
{
	const struct mf_registers caller = mf_caller_by(frame_of(frame), MF_FUNCTION_OWN);
	struct mf_allocator_resize resize = { .old = old, .size = size, .caller = &caller };

	mf_xstate_call(begin_resize, NULL, (uintptr_t)&resize);
	/* The program's allocator does not know about blocks from the early arena, so pass NULL instead. */
	if (resize.is_early)
		frame->rdi = 0;
	call_original_then(frame, resize.is_resized ? &resize.state.block : NULL);
	frame->rdi = (uintptr_t)old;
	mf_xstate_call(end_resize, frame, (uintptr_t)&resize);
}

struct resized {
	const struct mf_hook_frame *frame;
	void *old;
	size_t size;
};

static uint64_t resized_completely(const void *data, uint64_t more)
{
	const struct resized *resized = data;

	mf_allocator_resized(resized->old, pointer_to(resized->frame->rax), resized->size,
			     frame_of(resized->frame), MF_FUNCTION_OWN);
	return 0;
}

static inline void resize(struct mf_nesting *nesting, struct mf_hook_frame *frame, void *old, size_t size)
{
	bool in_hook = mf_thread_local.in_hook, may;

	mf_thread_local.in_hook = true;
	may = old && size && !mf_real_is_early(old) && mf_fastpath_may_realloc(old);
	mf_thread_local.in_hook = in_hook;
	if (!may) {
		resize_completely(frame, old, size);
		return;
	}
	mf_allocator_fetch(old);
	call_original(nesting, frame, NULL);
	mf_thread_local.in_hook = true;
	if (!mf_fastpath_realloc(old, pointer_to(frame->rax), size, frame_of(frame)).done)
		mf_xstate_call(resized_completely, &(struct resized){ frame, old, size }, 0);
	mf_thread_local.in_hook = in_hook;
}

static bool take_resize(struct mf_hook_frame *frame)
{
	struct mf_nesting *nesting = begin(frame);

	if (!nesting)
		return false;
	resize(nesting, frame, pointer_to(frame->rdi), frame->rsi);
	return true;
}

static bool take_resize_elements(struct mf_hook_frame *frame)
{
	struct mf_nesting *nesting;
	size_t product;

	/* If the number of elements times their size overflows, the original reallocarray() fails, so nothing is counted. */
	if (__builtin_mul_overflow(frame->rsi, frame->rdx, &product))
		return false;
	nesting = begin(frame);
	if (!nesting)
		return false;
	resize(nesting, frame, pointer_to(frame->rdi), product);
	return true;
}

static uint64_t free_completely(const void *data, uint64_t more)
{
	const struct mf_hook_frame *frame = data;
	void *pointer = pointer_to(frame->rdi);

	MF_TRACE(frame->hook->trace, pointer);
	mf_slowpath_free(pointer, frame_of(frame));
	return 0;
}

static bool take_free(struct mf_hook_frame *frame)
{
	void *pointer = pointer_to(frame->rdi);
	struct mf_nesting *nesting;
	bool in_hook, done;

	if (mf_real_is_early(pointer))
		return true;
	nesting = begin(frame);
	if (!nesting)
		return false;
	in_hook = mf_thread_local.in_hook;
	mf_thread_local.in_hook = true;
	done = mf_allocator_begin_free(pointer).done;
	mf_thread_local.in_hook = in_hook;
	if (__builtin_expect(!done, 0))
		mf_xstate_call(free_completely, frame, 0);
	call_original_then(frame, NULL);
	return true;
}

static mf_hook_take *const takes[MF_HOOK_KINDS] = {
	[MF_HOOK_SIZE] = take_size,
	[MF_HOOK_SIZE_ALIGNMENT] = take_size_alignment,
	[MF_HOOK_ALIGNMENT_SIZE] = take_alignment_size,
	[MF_HOOK_PAGES] = take_pages,
	[MF_HOOK_ELEMENTS] = take_elements,
	[MF_HOOK_RESIZE] = take_resize,
	[MF_HOOK_RESIZE_ELEMENTS] = take_resize_elements,
	[MF_HOOK_RESULT] = take_result,
	[MF_HOOK_FREE] = take_free,
};

void mf_hook_init(struct mf_hook *hook, enum mf_hook_kind kind, const void *original, const char *trace)
{
	*hook = (struct mf_hook){ .take = takes[kind], .original = original, .trace = trace };
	mf_nesting_hook_returns = (uintptr_t)mf_hook_returns;
}

#else

/* On processors other than x86-64 there are no detours, so hooks are never called. */
void mf_hook_init(struct mf_hook *hook, enum mf_hook_kind kind, const void *original, const char *trace)
{
	*hook = (struct mf_hook){ .original = original, .trace = trace };
}

void mf_hook_entry(void)
{
}

void mf_hook_returns(void)
{
}

#endif
