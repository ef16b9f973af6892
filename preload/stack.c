// SPDX-License-Identifier: GPL-2.0
// The context of the present stack: remembered, or walked and looked up in the trie.

#include "stack.h"

#include "model/consult.h"
#include "model/log.h"
#include "model/objects.h"
#include "model/trie.h"
#include "gate.h"
#include "lock.h"
#include "session.h"

/* Protects the trie and its contexts. Readers of what was there before need it not. */
static struct mf_lock trie_lock;

void mf_stack_forget(struct mf_thread *thread)
{
	thread->generation = mf_objects_generation();
	thread->walk.n = 0;
	thread->walk.repeatable = false;
	mf_memo_forget(&thread->memo);
}

/* The context that ends in @node; whether a new one counts may be another's decision. */
static uint32_t context_of(const struct mf_thread *thread, uint32_t node)
{
	struct mf_store_header *header = mf_session_store.header;
	uint32_t known = header->n_contexts;
	uint32_t context = mf_trie_context(&mf_session_store, node);

	if (__builtin_expect(header->logs_steps >= MF_LOG_FILTERING, 0)) {
		mf_gate_close();
		mf_log_capture(&mf_session_store, thread->entry,
			       header->n_contexts == known ? MF_CONTEXT_NONE : context);
		mf_gate_open();
	}
	if (__builtin_expect(header->n_contexts == known || !header->consults, 1) ||
	    mf_consult_ask(&mf_session_store, context))
		return context;
	mf_trie_ignore(&mf_session_store, node);
	return MF_CONTEXT_IGNORED;
}

static struct mf_frame frame_at(uint64_t pc, uint32_t object)
{
	return (struct mf_frame){ .pc = pc - 1, .object = object };
}

static uint32_t child_of(uint32_t parent, uint64_t pc, uint32_t object)
{
	return mf_trie_child(&mf_session_store, parent, frame_at(pc, object));
}

/* The object that holds @address, which is likely to be that of the frame before, @last. */
static uint32_t object_of(uint64_t address, uint32_t last)
{
	const struct mf_object_record *record = mf_objects_record(&mf_session_store, last);

	if (last != MF_OBJECT_NONE && !record->retired && address >= record->start &&
	    address < record->end)
		return last;
	return mf_objects_of(address);
}

/* The context of the stack in the walk. Nodes that are known from the walk before stay. */
static uint32_t insert_walk(struct mf_thread *thread)
{
	const struct mf_store_header *header = mf_session_store.header;
	struct mf_walk *walk = &thread->walk;
	uint32_t known = 0, object = MF_OBJECT_NONE, node, context;

	while (known < walk->n && walk->frames[known].node != MF_NODE_ROOT)
		known++;
	/* Without the lock: the dynamic linker may have to be asked. */
	for (uint32_t i = known; i < walk->n; i++)
		object = thread->objects[i] = object_of(walk->frames[i].pc - 1, object);
	node = known ? walk->frames[known - 1].node : MF_NODE_ROOT;
	for (; known < walk->n; known++) {
		uint32_t child = mf_trie_find_child(&mf_session_store, node,
						    frame_at(walk->frames[known].pc,
							     thread->objects[known]));

		if (!child)
			break;
		node = walk->frames[known].node = child;
	}
	/* A context about which somebody is being asked must wait, and one to be told is not known. */
	if (known == walk->n && !header->consults && header->logs_steps < MF_LOG_FILTERING) {
		context = mf_trie_find_context(&mf_session_store, node);
		if (context)
			return context;
	}

	mf_lock_take(&trie_lock);
	for (uint32_t i = known; i < walk->n; i++) {
		node = child_of(node, walk->frames[i].pc, thread->objects[i]);
		if (node == UINT32_MAX) {
			mf_lock_give(&trie_lock);
			return MF_CONTEXT_NONE;
		}
		walk->frames[i].node = node;
	}
	context = context_of(thread, node);
	mf_lock_give(&trie_lock);
	return context;
}

static uint32_t insert_merged(struct mf_thread *thread, uint32_t n)
{
	uint32_t node = MF_NODE_ROOT, context;

	for (uint32_t i = 0; i < n; i++)
		thread->objects[i] = mf_objects_of(thread->merged[i] - 1);
	mf_lock_take(&trie_lock);
	for (uint32_t i = n; i-- > 0 && node != UINT32_MAX;)
		node = child_of(node, thread->merged[i], thread->objects[i]);
	context = node == UINT32_MAX ? MF_CONTEXT_NONE : context_of(thread, node);
	mf_lock_give(&trie_lock);
	return context;
}

uint32_t mf_stack_interrupted(void)
{
	static uint32_t object;
	struct mf_object note = { .kind = MF_OBJECT_NOTE,
				  .path = "[in a signal handler that interrupted an allocation]" };
	struct mf_frame frame = { 0 };
	uint32_t context;

	mf_lock_take(&trie_lock);
	if (!object)
		object = mf_objects_add(&mf_session_store, &note);
	frame.object = object;
	context = mf_trie_insert(&mf_session_store, &frame, 1);
	mf_lock_give(&trie_lock);
	return context;
}

uint32_t mf_stack_context(struct mf_thread *thread, const struct mf_registers *caller)
{
	const struct mf_store_header *header = mf_session_store.header;
	uint32_t context;

	if (__builtin_expect(header->merge_recursive, 0))
		return insert_merged(thread, mf_unwind_merged(thread->merged, caller, header->depth,
							      header->merge_recursive,
							      &thread->walk));
	mf_unwind(&thread->walk, caller, header->depth);
	context = insert_walk(thread);
	/* Code may have gone while the dynamic linker was asked; or each stack is to be told. */
	if (thread->walk.repeatable && header->logs_steps < MF_LOG_FILTERING && context != MF_CONTEXT_NONE &&
	    thread->generation == mf_objects_generation())
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
	trie_lock = (struct mf_lock){ 0 };
}
