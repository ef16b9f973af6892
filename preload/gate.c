// SPDX-License-Identifier: GPL-2.0
// The gate: closing it, and waiting until nobody is inside.

#include "gate.h"

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fork.h"
#include "lock.h"

/* Looks at a busy thread before the processor is given to it, and before that is not enough. */
#define SPINS  200u
#define YIELDS 100u

uint32_t mf_gate_closed;
bool mf_gate_is_frozen; /* changes under the lock; and the gate is closed then */
static struct mf_lock lock;

/* Events are short, but the thread may not be running. */
static void wait_for(const struct mf_tally *tally)
{
	const struct timespec pause = { .tv_nsec = 50000 };

	for (uint32_t i = 0; __atomic_load_n(&tally->busy, __ATOMIC_ACQUIRE); i++) {
		if (i > SPINS + YIELDS)
			/* The C library's is a place where threads are cancelled. */
			syscall(SYS_nanosleep, &pause, NULL);
		else if (i > SPINS)
			sched_yield();
	}
}

bool mf_gate_hold(void)
{
	uint32_t n;

	mf_lock_take(&lock);
	if (mf_gate_is_frozen)
		return false;
	__atomic_store_n(&mf_gate_closed, 1, __ATOMIC_SEQ_CST);
	/* One that begins its use later finds the gate closed. */
	n = __atomic_load_n(&mf_session_store.header->n_tallies, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < n; i++)
		wait_for(mf_tally_of(&mf_session_store, i));
	return true;
}

void mf_gate_freeze(void)
{
	__atomic_store_n(&mf_gate_is_frozen, true, __ATOMIC_RELAXED);
	mf_lock_give(&lock);
}

void mf_gate_close(void)
{
	if (mf_gate_hold())
		return;
	mf_fork_go_on();
	__atomic_store_n(&mf_gate_is_frozen, false, __ATOMIC_RELAXED);
}

void mf_gate_open(void)
{
	__atomic_store_n(&mf_gate_closed, 0, __ATOMIC_RELEASE);
	mf_lock_give(&lock);
}

void mf_gate_reset(void)
{
	mf_gate_closed = 0;
	mf_gate_is_frozen = false;
	lock = (struct mf_lock){ 0 };
}
