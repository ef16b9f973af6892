// SPDX-License-Identifier: GPL-2.0
// Allocates the threads' states.
//
// A state is large but mostly untouched. States are in a region of the session memory that is mapped once, at the
// start, so nothing has to be mapped for a new thread. A new mapping could fail because of RLIMIT_DATA, RLIMIT_AS or
// (after mlockall(MCL_FUTURE)) RLIMIT_MEMLOCK. The region is shared memory because RLIMIT_DATA counts all private
// memory. As a consequence, fork does not copy it: a forked child begins with empty states in a region of its own, and
// the data that it needs from its parent is in struct mf_thread_private.
//
// The first states each have a memo with room for the stacks of a large program. In a program with hundreds of threads,
// most threads run the same code, so the remaining states have smaller memos.

#include "thread_memory.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "own_memory.h"
#include "session.h"
#include "thread.h"

#define LARGE_ROOM (1u << 20)
#define SMALL_ROOM MF_MEMO_ROOM_LEAST
#define PAGE_BYTES 4096u

/*
 * The session memory has a region for threads' states. One third of it is for states with a large memo (the thread's
 * cache of known stacks).
 */
#define LARGE_SHARE 3u

/*
 * Number of thread states in use: @n_large with a large memo of stacks, @n_small with a small one. In the session
 * memory's region for states, all states with a large memo come first.
 */
static uint64_t n_large, n_small;

static size_t size_with(uint32_t room)
{
	size_t size = offsetof(struct mf_thread, memo) + mf_memo_size(room);

	return (size + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

static struct mf_thread *at(uint64_t offset)
{
	return (struct mf_thread *)((char *)mf_session_store.regions[MF_REGION_THREADS] + offset);
}

/*
 * Allocates a thread's state in private memory. Used when the session's region for states is full, which happens early
 * if an address-space limit has kept the session small.
 */
static struct mf_thread *take_private_memory(void)
{
	void *memory = mmap(NULL, size_with(SMALL_ROOM), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	mf_own_memory_note(memory, size_with(SMALL_ROOM));
	return memory;
}

struct mf_thread *mf_thread_memory_take(uint32_t *room)
{
	uint64_t size = mf_session_store.sizes[MF_REGION_THREADS];
	uint64_t large = size / LARGE_SHARE / size_with(LARGE_ROOM);
	uint64_t first_small = large * size_with(LARGE_ROOM);

	if (n_large < large) {
		*room = LARGE_ROOM;
		return at(n_large++ * size_with(LARGE_ROOM));
	}
	*room = SMALL_ROOM;
	if (n_small < (size - first_small) / size_with(SMALL_ROOM))
		return at(first_small + n_small++ * size_with(SMALL_ROOM));
	return take_private_memory();
}

void mf_thread_memory_clear(void)
{
	madvise(mf_session_store.regions[MF_REGION_THREADS],
		mf_session_store.sizes[MF_REGION_THREADS], MADV_REMOVE);
}

/*
 * Sizes of the three parts of a saved thread state: everything up to the memo's pool, the used part of that pool, and
 * the memo's hash table.
 */
struct parts {
	size_t head, pool, table;
};

/*
 * Returns the sizes of the parts of @thread's state. They are upper bounds, since the interrupted event may be changing
 * the memo by adding nodes or enlarging the table.
 */
static struct parts parts_of(const struct mf_thread *thread)
{
	const struct mf_memo *memo = &thread->memo;
	size_t used = memo->used + MF_MEMO_CHANGE, slots = 2 * ((size_t)memo->mask + 1);
	size_t most = memo->room / MF_MEMO_WORDS_PER_SLOT;

	return (struct parts){
		.head = offsetof(struct mf_thread, memo) + sizeof(struct mf_memo),
		.pool = (used < memo->room ? used : memo->room) * sizeof(uint64_t),
		.table = (slots < most ? slots : most) * sizeof(uint64_t),
	};
}

static size_t sum_of(const struct parts *parts)
{
	return parts->head + parts->pool + parts->table;
}

void mf_thread_memory_save(struct mf_thread_private *private)
{
	const struct mf_thread *thread = private->thread;
	struct parts parts = parts_of(thread);
	char *copy = mmap(NULL, sum_of(&parts), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		return;
	memcpy(copy, thread, parts.head);
	memcpy(copy + parts.head, mf_memo_pool(&thread->memo), parts.pool);
	memcpy(copy + parts.head + parts.pool, mf_memo_slots(&thread->memo), parts.table);
	private->saved = copy;
	private->saved_bytes = sum_of(&parts);
}

void mf_thread_memory_restore(struct mf_thread_private *private)
{
	const char *copy = private->saved;
	struct mf_thread *thread = private->thread;
	struct parts parts;

	if (!copy)
		return;
	/*
	 * The saved copy of the thread's state has three parts: the state itself, the pool of its memo of stacks, and
	 * the memo's hash table. The first part contains all that is needed to compute the sizes of the three.
	 */
	parts = parts_of(private->saved);
	if (mmap(thread, size_with(((const struct mf_thread *)private->saved)->memo.room),
		 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
		 0) != MAP_FAILED) {
		memcpy(thread, copy, parts.head);
		memcpy(mf_memo_pool(&thread->memo), copy + parts.head, parts.pool);
		memcpy(mf_memo_slots(&thread->memo), copy + parts.head + parts.pool, parts.table);
	}
	mf_thread_memory_drop(private);
}

void mf_thread_memory_drop(struct mf_thread_private *private)
{
	if (private->saved)
		munmap(private->saved, private->saved_bytes);
	private->saved = NULL;
}
