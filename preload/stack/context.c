// SPDX-License-Identifier: GPL-2.0
// Finds the context of the current stack, in the memo or by walking the stack and looking it up in the trie.

#include "context.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "model/filter_client.h"
#include "model/log.h"
#include "model/objects.h"
#include "model/thread_table.h"
#include "model/trie.h"
#include "core/gate.h"
#include "core/lock.h"
#include "core/objects.h"
#include "core/seccomp.h"
#include "core/session.h"
#include "eh_frame.h"
#include "rule_cache.h"
#include "unwind.h"

/* Protects the trie and its contexts. Reading existing nodes and contexts needs no lock. */
static struct mf_lock trie_lock;

static void take_trie(void)
{
	mf_lock_take(&trie_lock);
	mf_gate_thaw();
}

void mf_stack_forget(struct mf_thread *thread)
{
	thread->generation = mf_objects_generation();
	thread->walk.n = 0;
	thread->walk.repeatable = false;
	mf_memo_forget(&thread->memo);
}

/* Returns the context whose stack ends at the trie's @node, or the overflow context if there is no room. */
static uint32_t make_context(uint32_t node)
{
	uint32_t context = MF_CONTEXT_NONE;

	if (node != UINT32_MAX)
		context = mf_trie_context(&mf_session_store, node);
	return context != MF_CONTEXT_NONE ? context : mf_trie_overflow(&mf_session_store);
}

/*
 * Like make_context(), but if the context is new, may ask the filter server (the thread of massif-ctl that knows which
 * contexts the user wants ignored) whether to count the context.
 */
static uint32_t context_of(const struct mf_thread *thread, uint32_t node)
{
	struct mf_store_header *header = mf_session_store.header;
	uint32_t known = header->n_contexts;
	uint32_t context = make_context(node);

	if (header->n_contexts != known && context != header->overflow)
		mf_trie_set_function(&mf_session_store, context, thread->function);
	if (__builtin_expect(header->logs_steps >= MF_LOG_FILTERING, 0)) {
		mf_gate_close();
		mf_log_capture(&mf_session_store, thread->entry,
			       header->n_contexts == known ? MF_CONTEXT_NONE : context);
		mf_gate_open();
	}
	if (__builtin_expect(header->n_contexts == known || !header->consults, 1) ||
	    context == header->overflow || mf_filter_client_ask(&mf_session_store, context))
		return context;
	mf_trie_ignore(&mf_session_store, node);
	return MF_CONTEXT_IGNORED;
}

static struct mf_frame frame_at(uint64_t pc, uint32_t object)
{
	return (struct mf_frame){ .pc = pc - 1, .object = object };
}

/*
 * Returns whether frame @i is the innermost frame of @walk, and the stack was walked for a client request in that
 * frame. If so, the frame's pc is the address of the next instruction, not a return address.
 */
static bool is_own(const struct mf_walk *walk, uint32_t i)
{
	return walk->frames[i].exact && i == walk->n - 1;
}

/*
 * Returns the pc of frame @i of @walk for use as a return address, from which 1 is subtracted later. If a signal
 * interrupted the frame, its pc is used as if it were a return address, as in Massif. In an innermost frame with a
 * client request, 1 is added to make up for the later subtraction.
 */
static uint64_t pc_of(const struct mf_walk *walk, uint32_t i)
{
	return walk->frames[i].pc + is_own(walk, i);
}

/*
 * Stores the trie node of frame @i in the walk, for reuse by the next walk. The nodes of all outer frames must already
 * have been stored. Does nothing for an interrupted innermost frame: if the next walk finds the same address in an
 * outer frame, that frame has a different node.
 */
static void keep_node(struct mf_walk *walk, uint32_t i, uint32_t node)
{
	if (is_own(walk, i))
		return;
	walk->frames[i].node = node;
	walk->n_known = i + 1;
}

static uint32_t child_of(uint32_t parent, uint64_t pc, uint32_t object)
{
	return mf_trie_child(&mf_session_store, parent, frame_at(pc, object));
}

/*
 * Returns the object that contains @address. First tries @last, the object of the previous frame. Scans the dynamic
 * linker's list at most once per stack (*@asked), because one scan finds all objects of the stack.
 */
static uint32_t object_of(uint64_t address, uint32_t last, bool *asked)
{
	const struct mf_object_record *record = mf_objects_record(&mf_session_store, last);

	if (last != MF_OBJECT_NONE && !record->retired && address >= record->start &&
	    address < record->end)
		return last;
	last = mf_objects_find(&mf_session_store, address);
	if (last != MF_OBJECT_NONE || *asked)
		return last;
	*asked = true;
	return mf_objects_of(address);
}

/*
 * Finds existing nodes for the walk's frames, from the outermost frame inwards, until a frame has no node. Reuses nodes
 * from the previous walk. Returns the innermost node found, and sets *@known to the number of frames that have a node.
 */
static inline uint32_t find_nodes(struct mf_thread *thread, uint32_t *known)
{
	const struct mf_store *store = &mf_session_store;
	struct mf_walk *walk = &thread->walk;
	/*
	 * Leave out the innermost frame if it was interrupted, that is, if its pc is not a return address.
	 * find_nodes_by_objects() handles that frame.
	 */
	uint32_t end = walk->n - walk->frames[walk->n - 1].exact, next = 0;
	uint32_t n = walk->n_known < end ? walk->n_known : end;
	struct mf_walk_frame *frame = &walk->frames[n];
	uint32_t node = n ? frame[-1].node : thread->root;

	/*
	 * When looking up the outermost frame that differs from the previous stack, first try the next sibling of the
	 * node that the previous stack has at this depth.
	 */
	if (n < end && frame->node)
		next = mf_trie_next(store, frame->node);
	for (; n < end; n++, frame++, next = 0) {
		uint32_t child = __builtin_expect(frame->is_link, 0) ? node :
				 mf_trie_find_mapped(store, node, frame->pc - 1, next);

		if (__builtin_expect(!child, 0))
			break;
		frame->node = node = child;
	}
	walk->n_known = *known = n;
	return node;
}

/*
 * Like find_nodes(), but starts below @node with frame *@known, and also looks up the frames' objects and compares
 * them. Must be called without the trie's lock, because it may take the dynamic linker's lock.
 */
static __attribute__((noinline)) uint32_t find_nodes_by_objects(struct mf_thread *thread, uint32_t node,
								uint32_t *known)
{
	const struct mf_store *store = &mf_session_store;
	struct mf_walk *walk = &thread->walk;
	uint32_t n = *known, object = node ? mf_trie_node(store, node)->object : MF_OBJECT_NONE;
	bool asked = false;

	for (uint32_t i = n; i < walk->n; i++)
		if (!walk->frames[i].is_link)
			object = thread->objects[i] = object_of(pc_of(walk, i) - 1, object, &asked);
	for (; n < walk->n; n++) {
		struct mf_frame frame = frame_at(pc_of(walk, n), thread->objects[n]);
		uint32_t child = walk->frames[n].is_link ? node :
				 mf_trie_find_child(store, node, frame);

		if (!child && !walk->frames[n].is_link)
			break;
		node = child;
		keep_node(walk, n, node);
	}
	*known = n;
	return node;
}

/*
 * Creates trie nodes below @node for frame @known and for every frame inside it. Returns the innermost node, or
 * UINT32_MAX if there is no room.
 * Context: the trie's lock is held.
 */
static uint32_t make_nodes(struct mf_thread *thread, uint32_t known, uint32_t node)
{
	struct mf_walk *walk = &thread->walk;

	for (uint32_t i = known; i < walk->n && node != UINT32_MAX; i++) {
		if (!walk->frames[i].is_link)
			node = child_of(node, pc_of(walk, i), thread->objects[i]);
		if (node != UINT32_MAX)
			keep_node(walk, i, node);
	}
	return node;
}

/* Returns the context of the stack that was walked last (thread->walk), adding it to the trie if it is new. */
static uint32_t insert_walk(struct mf_thread *thread)
{
	const struct mf_store_header *header = mf_session_store.header;
	uint32_t known, node = find_nodes(thread, &known), context;

	if (__builtin_expect(known < thread->walk.n, 0))
		node = find_nodes_by_objects(thread, node, &known);
	/*
	 * If the stack already has a context, return it without taking the trie's lock. However, the lock is needed if
	 * massif-ctl's filter server may still be deciding whether the context is to be counted, or if the stack must
	 * be logged.
	 */
	if (known == thread->walk.n && !header->consults && header->logs_steps < MF_LOG_FILTERING) {
		context = mf_trie_find_context(&mf_session_store, node);
		if (context)
			return context;
	}

	take_trie();
	node = make_nodes(thread, known, node);
	context = context_of(thread, node);
	mf_lock_give(&trie_lock);
	return context;
}

/*
 * Creates trie nodes for the @n frames in thread->merged. Returns the innermost node, or UINT32_MAX if there is no
 * room.
 * Context: the trie's lock is held.
 */
static uint32_t make_merged_nodes(const struct mf_thread *thread, uint32_t n)
{
	uint32_t node = thread->root;

	for (uint32_t i = n; i-- > 0 && node != UINT32_MAX;)
		node = child_of(node, thread->merged[i], thread->objects[i]);
	return node;
}

/*
 * Walks the stack, merges cycles of recursive calls, and stores the frames' addresses in thread->merged. Also
 * determines the frames' objects. Returns the number of frames.
 */
static uint32_t walk_merged(struct mf_thread *thread, const struct mf_registers *caller)
{
	const struct mf_store_header *header = mf_session_store.header;
	uint32_t n = mf_unwind_merged(thread->merged, caller, header->depth,
				      header->merge_recursive, &thread->walk);

	/*
	 * If the innermost frame was interrupted, its pc is not a return address. Add 1, so that it can be treated like
	 * one; see pc_of().
	 */
	thread->merged[0] += caller->exact;
	for (uint32_t i = 0; i < n; i++)
		thread->objects[i] = mf_objects_of(thread->merged[i] - 1);
	return n;
}

static uint32_t insert_merged(struct mf_thread *thread, const struct mf_registers *caller)
{
	uint32_t n = walk_merged(thread, caller), node, context;

	take_trie();
	node = make_merged_nodes(thread, n);
	context = context_of(thread, node);
	mf_lock_give(&trie_lock);
	return context;
}

/*
 * Gives the thread a root of its own in the trie, if threads are kept apart. A thread that is ending takes a new state
 * for each of its last events, but stays the same thread. In a sandbox, the thread's ID and name remain unknown.
 */
static __attribute__((noinline)) void make_root(struct mf_thread *thread)
{
	char name[MF_THREAD_NAME_SIZE] = "";
	int32_t tid = 0;

	if (!mf_seccomp_is_on()) {
		tid = (int32_t)syscall(SYS_gettid);
		syscall(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
	}
	take_trie();
	thread->root = mf_thread_local.shortcut == MF_FASTPATH_ENDING ? mf_thread_table_find(&mf_session_store, tid) : 0;
	if (thread->root == MF_NODE_ROOT)
		thread->root = mf_thread_table_add(&mf_session_store, tid, name);
	thread->private->self = pthread_self();
	mf_lock_give(&trie_lock);
}

/* Returns whether the thread needs a root of its own and has none yet. */
static inline bool lacks_root(const struct mf_thread *thread)
{
	return __builtin_expect(mf_session_store.header->separates_threads, 0) && thread->root == MF_NODE_ROOT;
}

uint32_t mf_stack_node(struct mf_thread *thread, const struct mf_registers *caller)
{
	const struct mf_store_header *header = mf_session_store.header;
	uint32_t n, node;

	if (lacks_root(thread))
		make_root(thread);
	if (thread->generation != mf_objects_generation())
		mf_stack_forget(thread);
	if (header->merge_recursive) {
		n = walk_merged(thread, caller);
		take_trie();
		node = make_merged_nodes(thread, n);
	} else {
		mf_unwind(&thread->walk, caller, header->depth);
		node = find_nodes(thread, &n);
		if (n < thread->walk.n)
			node = find_nodes_by_objects(thread, node, &n);
		if (n == thread->walk.n)
			return node;
		take_trie();
		node = make_nodes(thread, n, node);
	}
	mf_lock_give(&trie_lock);
	return node;
}

/* Pseudo-object for the single frame of events whose stack cannot be determined. */
static uint32_t interrupted_object;

static void forget_object(uint64_t start, uint64_t end)
{
	mf_unwind_forget(start, end);
	mf_eh_frame_gone(start, end);
}

static bool forget_guesses(void)
{
	if (!mf_rule_cache_has_guessed())
		return false;
	mf_unwind_forget(0, UINT64_MAX);
	return true;
}

void mf_stack_start(void)
{
	static const struct mf_object note = {
		.kind = MF_OBJECT_NOTE, .path = "[in a signal handler that interrupted an allocation]",
	};

	interrupted_object = mf_objects_add(&mf_session_store, &note);
	mf_trie_prepare_overflow(&mf_session_store);
	if (mf_session_store.header->separates_threads)
		mf_thread_table_init(&mf_session_store);
	mf_objects_watcher = (struct mf_objects_watcher){
		.arrived = mf_eh_frame_arrived, .gone = forget_object, .forget_guesses = forget_guesses,
	};
}

/* Returns the trie's node for events whose stack cannot be determined. Context: the trie's lock is held. */
static uint32_t interrupted_node(void)
{
	struct mf_frame frame = { .object = interrupted_object };

	return mf_trie_child(&mf_session_store, MF_NODE_ROOT, frame);
}

uint32_t mf_stack_interrupted_node(void)
{
	uint32_t node;

	take_trie();
	node = interrupted_node();
	mf_lock_give(&trie_lock);
	return node;
}

uint32_t mf_stack_interrupted(void)
{
	uint32_t context;

	take_trie();
	context = make_context(interrupted_node());
	mf_lock_give(&trie_lock);
	return context;
}

uint32_t mf_stack_context(struct mf_thread *thread, const struct mf_registers *caller)
{
	const struct mf_store_header *header = mf_session_store.header;
	uint32_t n_contexts = __atomic_load_n(&header->n_contexts, __ATOMIC_RELAXED), context;

	if (lacks_root(thread))
		make_root(thread);
	thread->function = caller->function;
	if (__builtin_expect(header->merge_recursive, 0))
		return insert_merged(thread, caller);
	mf_unwind(&thread->walk, caller, header->depth);
	context = insert_walk(thread);
	/*
	 * Do not add the stack to the memo if every stack is logged, if an object may have been unloaded since the
	 * walk, or if the innermost frame was interrupted. In the last case, the saved frame pointer may not be at the
	 * fixed offset where the memo expects it; that offset is right only after a call.
	 */
	if (!mf_memo_has_looked(&thread->memo) || caller->exact || !thread->walk.repeatable ||
	    header->logs_steps >= MF_LOG_FILTERING ||
	    thread->generation != mf_objects_generation())
		return context;
	/* Many stacks occur only once, so a stack is added to the memo only if its context is not new. */
	if (context >= n_contexts)
		mf_memo_pass(&thread->memo);
	else
		mf_memo_enter(&thread->memo, caller, &thread->walk, context);
	return context;
}

void mf_stack_hold(void)
{
	mf_lock_take(&trie_lock);
}

void mf_stack_release(void)
{
	mf_lock_give(&trie_lock);
}

void mf_stack_reset(void)
{
	mf_lock_reset(&trie_lock);
}
