// SPDX-License-Identifier: GPL-2.0
// Tells the model what the program allocates and frees.
//
// Each event passes in three steps: the stack is captured, without a lock; what is new in it is
// looked up, without a lock; and the model is changed, under the session's lock. A signal handler
// may interrupt any of them and allocate: its events wait in the thread until the interrupted one
// is done.

#include "track.h"

#include <errno.h>

#include "model/consult.h"
#include "model/heap.h"
#include "model/model.h"
#include "model/objects.h"
#include "model/trie.h"
#include "clock.h"
#include "objects.h"
#include "real.h"
#include "session.h"
#include "thread.h"
#include "unwind.h"

static inline uint64_t address_of(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

/*
 * Compares the captured stack of @n frames with the one before, from the outermost frame on, and
 * looks up the objects of the frames in which they differ. Returns how many agree.
 */
static uint32_t find_difference(struct mf_thread *thread, uint32_t n)
{
	uint32_t generation = mf_objects_generation(), same = 0;

	if (thread->last_generation != generation) {
		thread->last_generation = generation;
		thread->n_last = 0;
	}
	while (same < n && same < thread->n_last &&
	       thread->last_pcs[same] == thread->captured[n - 1 - same])
		same++;
	for (uint32_t i = same; i < n; i++)
		thread->objects[i] = mf_objects_of(thread->captured[n - 1 - i] - 1);
	return same;
}

/* The context that ends in @node; whether a new one counts may be another's decision. */
static uint32_t context_of(uint32_t node)
{
	struct mf_store_header *header = mf_session_store.header;
	uint32_t known = header->n_contexts;
	uint32_t context = mf_trie_context(&mf_session_store, node);

	if (__builtin_expect(header->n_contexts == known || !header->consults, 1) ||
	    mf_consult_ask(&mf_session_store, context))
		return context;
	mf_trie_ignore(&mf_session_store, node);
	return MF_CONTEXT_IGNORED;
}

/* The context of the captured stack of @n frames, of which @same are known. Under the lock. */
static uint32_t insert_stack(struct mf_thread *thread, uint32_t n, uint32_t same)
{
	uint32_t node = same ? thread->last_nodes[same - 1] : MF_NODE_ROOT;

	thread->n_last = same;
	for (uint32_t i = same; i < n; i++) {
		uint64_t pc = thread->captured[n - 1 - i];
		struct mf_frame frame = { .pc = pc - 1, .object = thread->objects[i] };

		node = mf_trie_child(&mf_session_store, node, frame);
		if (node == UINT32_MAX)
			return MF_CONTEXT_NONE;
		thread->last_pcs[i] = pc;
		thread->last_nodes[i] = node;
		thread->n_last = i + 1;
	}
	return context_of(node);
}

/* What the model is told of the block at @pointer; its capacity where that is the allocator's own. */
static struct mf_block block_at(uint64_t address, size_t size, uint32_t context)
{
	return (struct mf_block){
		.address = address,
		.size = size,
		.capacity = mf_real_extent((const void *)(uintptr_t)address),
		.context = context,
	};
}

static void account_alloc(uint64_t address, size_t size, uint32_t context, int64_t now)
{
	struct mf_block block;

	if (__builtin_expect(!mf_session_store.header->real_capacities, 1)) {
		mf_heap_alloc(&mf_session_store, address, size, context, now);
		return;
	}
	block = block_at(address, size, context);
	mf_heap_alloc_block(&mf_session_store, &block, now);
}

static void account_realloc(const struct mf_block *old, uint64_t address, size_t size,
			    uint32_t context, int64_t now)
{
	struct mf_block block;

	if (__builtin_expect(!mf_session_store.header->real_capacities, 1)) {
		mf_heap_realloc_end(&mf_session_store, old, address, size, context, now);
		return;
	}
	block = block_at(address, size, context);
	mf_heap_realloc_end_block(&mf_session_store, old, &block, now);
}

/* The context of events whose stack cannot be known. Under the lock. */
static uint32_t interrupted_context(void)
{
	static uint32_t object;
	struct mf_object note = { .kind = MF_OBJECT_NOTE,
				  .path = "[in a signal handler that interrupted an allocation]" };
	struct mf_frame frame = { 0 };

	if (!object)
		object = mf_objects_add(&mf_session_store, &note);
	frame.object = object;
	return mf_trie_insert(&mf_session_store, &frame, 1);
}

static void lose(void)
{
	__atomic_add_fetch(&mf_session_store.header->events_lost, 1, __ATOMIC_RELAXED);
}

static void defer(const void *pointer, size_t size, bool is_free)
{
	struct mf_thread *thread = mf_thread_local.thread;
	uint32_t n = thread ? thread->n_deferred : MF_DEFERRED_MAX;

	if (n == MF_DEFERRED_MAX) {
		lose();
		return;
	}
	thread->deferred[n] = (struct mf_deferred){
		.address = address_of(pointer), .size = size, .is_free = is_free,
	};
	thread->n_deferred = n + 1;
}

/* Accounts what signal handlers left behind. Under the lock. */
static void account_deferred(struct mf_thread *thread, int64_t now)
{
	for (uint32_t i = 0; i < thread->n_deferred; i++) {
		const struct mf_deferred *event = &thread->deferred[i];

		mf_session_store.header->events++;
		if (event->is_free)
			mf_heap_free(&mf_session_store, event->address, now);
		else
			/* It may be gone by now: its capacity cannot be asked for. */
			mf_heap_alloc(&mf_session_store, event->address, event->size,
				      interrupted_context(), now);
	}
	thread->n_deferred = 0;
}

/* From here to leave(), the thread's other events wait. NULL: the event is lost, do not leave. */
static struct mf_thread *enter(void)
{
	struct mf_thread *thread;

	mf_thread_local.inside = true;
	thread = mf_thread_get();
	if (__builtin_expect(!thread, 0)) {
		mf_thread_local.inside = false;
		lose();
	}
	return thread;
}

/* Gives the session's lock back. */
static void leave(struct mf_thread *thread, int64_t now)
{
	mf_session_store.header->events++;
	if (thread->n_deferred)
		account_deferred(thread, now);
	mf_session_unlock();
	mf_thread_local.inside = false;
	/* A handler may have come in between the two. */
	if (__builtin_expect(thread->n_deferred, 0)) {
		mf_thread_local.inside = true;
		mf_session_lock();
		account_deferred(thread, now);
		mf_session_unlock();
		mf_thread_local.inside = false;
	}
}

void mf_track_alloc(const void *pointer, size_t size, const void *caller)
{
	struct mf_thread *thread;
	int saved = errno;
	uint32_t n, same;
	int64_t now;

	if (!pointer || !mf_session_is_active())
		return;
	if (mf_thread_local.inside) {
		defer(pointer, size, false);
		return;
	}
	thread = enter();
	if (!thread)
		return;
	n = mf_unwind_capture(thread->captured, caller, mf_session_store.header->depth,
			      mf_session_store.header->merge_recursive);
	same = find_difference(thread, n);
	mf_session_lock();
	now = mf_clock_now(&thread->clock);
	account_alloc(address_of(pointer), size, insert_stack(thread, n, same), now);
	leave(thread, now);
	errno = saved;
}

void mf_track_free(const void *pointer)
{
	struct mf_thread *thread;
	int saved = errno;
	int64_t now;

	if (!pointer || !mf_session_is_active())
		return;
	if (mf_thread_local.inside) {
		defer(pointer, 0, true);
		return;
	}
	thread = enter();
	if (!thread)
		return;
	mf_session_lock();
	now = mf_clock_now(&thread->clock);
	mf_heap_free(&mf_session_store, address_of(pointer), now);
	leave(thread, now);
	errno = saved;
}

void mf_track_realloc_begin(struct mf_track_realloc *state, const void *old)
{
	int saved = errno;

	state->known = false;
	if (!mf_session_is_active())
		return;
	if (mf_thread_local.inside) {
		defer(old, 0, true);
		return;
	}
	if (!enter())
		return;
	mf_session_lock();
	state->known = mf_heap_realloc_begin(&mf_session_store, address_of(old), &state->block);
	mf_session_unlock();
	mf_thread_local.inside = false;
	errno = saved;
}

bool mf_track_realloc_zero_keeps(void)
{
	return mf_session_is_active() && mf_session_store.header->realloc_zero_keeps;
}

void mf_track_realloc_freed(const struct mf_track_realloc *state)
{
	struct mf_thread *thread;
	int saved = errno;
	int64_t now;

	if (!state->known)
		return;
	thread = enter();
	if (!thread)
		return;
	mf_session_lock();
	now = mf_clock_now(&thread->clock);
	/* Back for a moment: of two blocks at an address, the later one is freed. */
	mf_heap_realloc_failed(&mf_session_store, &state->block);
	mf_heap_free(&mf_session_store, state->block.address, now);
	leave(thread, now);
	errno = saved;
}

void mf_track_realloc_end(const struct mf_track_realloc *state, const void *old, const void *pointer,
			  size_t size, const void *caller)
{
	struct mf_thread *thread;
	int saved = errno;
	uint32_t n, same;
	int64_t now;

	if (!state->known) {
		/* Not ours so far, as far as we know: it is from now on. */
		mf_track_alloc(pointer, size, caller);
		return;
	}
	thread = enter();
	if (!thread)
		return;
	if (!pointer) {
		mf_session_lock();
		mf_heap_realloc_failed(&mf_session_store, &state->block);
		leave(thread, mf_clock_now(&thread->clock));
		errno = saved;
		return;
	}
	n = mf_unwind_capture(thread->captured, caller, mf_session_store.header->depth,
			      mf_session_store.header->merge_recursive);
	same = find_difference(thread, n);
	mf_session_lock();
	now = mf_clock_now(&thread->clock);
	/* Before the new place is known: the peak's tree must not have it. */
	mf_heap_realloc_shrinks(&mf_session_store, &state->block, size, now);
	account_realloc(&state->block, address_of(pointer), size, insert_stack(thread, n, same),
			now);
	leave(thread, now);
	errno = saved;
}
