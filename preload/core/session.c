// SPDX-License-Identifier: GPL-2.0
// The session in this process: its memory, and whether events are counted.

#include "session.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/details.h"
#include "own_memory.h"
#include "seccomp.h"

struct mf_store mf_session_store;

static const int never_active;
const volatile int *mf_session_active_word = &never_active;
bool mf_session_traces;

static int *active_word; /* non-const pointer to the word that mf_session_active_word points to during a session */
/* Copy of *active_word. In a forked child, the kernel clears *active_word, but this copy keeps the parent's value. */
static int active_value;

bool mf_session_make_word(void)
{
	size_t size = (size_t)getauxval(AT_PAGESZ);
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED || madvise(page, size, MADV_WIPEONFORK))
		return false;
	mf_own_memory_add(size);
	active_word = page;
	return true;
}

int mf_session_prepare(uint64_t *address)
{
	const struct mf_store_header *header = mf_session_store.header;

	mf_own_memory_forget(active_word);
	mf_own_memory_note(active_word, (size_t)getauxval(AT_PAGESZ));
	active_value = MF_SESSION_ACTIVE | (header->keeps_ledger ? MF_SESSION_LEDGER : 0) |
		       (mf_details_are_kept(&mf_session_store) ? MF_SESSION_DETAILS : 0) |
		       (header->counts_stacks ? MF_SESSION_STACKS : 0) |
		       (header->leaves_heap ? MF_SESSION_NO_HEAP : 0);
	__atomic_store_n(&mf_session_active_word, (const volatile int *)active_word, __ATOMIC_RELEASE);
	*address = (uintptr_t)active_word;
	return active_value;
}

void mf_session_begin(void)
{
	uint64_t address;

	*active_word = mf_session_prepare(&address);
}

void mf_session_verify(void)
{
	active_value |= MF_SESSION_VERIFIES;
	*active_word = active_value;
}

void mf_session_executing(bool begins)
{
	struct mf_store_header *header = mf_session_store.header;

	if (mf_session_is_active() && !mf_seccomp_is_on() && header->pid == getpid())
		__atomic_store_n(&header->executes, begins, __ATOMIC_RELAXED);
}

static int counting(int said, bool counts)
{
	return counts ? said & ~MF_SESSION_STOPPED : said | MF_SESSION_STOPPED;
}

void mf_session_count(bool counts)
{
	int said = *mf_session_active_word;

	/*
	 * Use compare-and-exchange, because other threads may also change the active word, and an inactive session must
	 * not become active.
	 */
	do {
		if (!said)
			return;
	} while (!__atomic_compare_exchange_n(active_word, &said, counting(said, counts), false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	active_value = counting(said, counts);
}

bool mf_session_continue(int memory)
{
	return active_word && !mf_store_attach_again(&mf_session_store, memory);
}

void mf_session_resume(void)
{
	*active_word = active_value;
}

void mf_session_deactivate(void)
{
	*active_word = 0;
}

void mf_session_activate(void)
{
	__atomic_store_n(&mf_session_store.header->pid, getpid(), __ATOMIC_RELEASE);
}
