// SPDX-License-Identifier: GPL-2.0
// Closes the gate and waits until no thread is in the middle of an event.

#include "gate.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fork_calls.h"
#include "lock.h"

/* Number of times that a thread polls a busy tally before it starts to sleep between polls. */
#define SPINS 200u

/*
 * The first sleep between two polls, in nanoseconds, and how often that time is doubled. A thread with a real-time
 * priority wakes up exactly when its timer expires. If it slept for only a microsecond each time, it would keep the
 * processor busy, and a thread with a lower priority on the same processor could never finish its event.
 */
#define FIRST_SLEEP 1000u
#define DOUBLINGS 6u

/* Number of polls after which a tally that was busy each time is taken to be held by a thread that no longer exists. */
#define POLLS_BEFORE_ABANDONED 10000u

const char mf_gate_never_alone;
MF_LASTING const char *mf_gate_alone = &mf_gate_never_alone;

uint32_t mf_gate_closed;
/*
 * true while the session memory is frozen for a fork; changed only by a thread that holds the gate's lock and has
 * closed the gate
 */
bool mf_gate_is_frozen;
static struct mf_lock lock;

/*
 * Sleeps between two polls; @sleeps: how often this function has been called before during the same wait. Uses futex(2),
 * which sandboxes allow because allocators use it as well.
 */
static void sleep_a_moment(uint32_t sleeps)
{
	static const uint32_t word;
	const struct timespec pause = { .tv_nsec = FIRST_SLEEP << (sleeps < DOUBLINGS ? sleeps : DOUBLINGS) };
	/*
	 * errno belongs to the program, and the futex call below sets it to ETIMEDOUT or EINTR. So save and restore it.
	 */
	int saved = errno;

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, word, &pause, NULL, 0);
	errno = saved;
}

/*
 * Returns whether a thread that has found a tally busy @spins times should poll it again. Events are short, but the
 * thread that holds the tally may have been descheduled. If a signal handler forks in the middle of an event, the
 * thread that holds the tally does not exist in the child. Such a child is not profiled; there, this function returns
 * false to end the wait.
 */
static bool looks_again(uint32_t spins)
{
	if (spins < SPINS) {
#ifdef __x86_64__
		__builtin_ia32_pause();
#endif
		return true;
	}
	sleep_a_moment(spins - SPINS);
	return mf_session_is_active();
}

static void wait_for(const struct mf_tally *tally)
{
	for (uint32_t i = 0; __atomic_load_n(&tally->busy, __ATOMIC_ACQUIRE); i++)
		if (!looks_again(i))
			return;
}

void mf_gate_take_turn(struct mf_tally *tally)
{
	do
		wait_for(tally);
	while (__atomic_exchange_n(&tally->busy, 1, __ATOMIC_SEQ_CST) && mf_session_is_active());
}

void mf_gate_abandon(struct mf_tally *tally)
{
	for (uint32_t i = 0; i < POLLS_BEFORE_ABANDONED; i++) {
		if (!__atomic_load_n(&tally->busy, __ATOMIC_ACQUIRE))
			return;
		/* No other thread could have begun to use the tally while it was busy. */
		if (__atomic_load_n(&tally->users, __ATOMIC_RELAXED) == 1 || !looks_again(i))
			break;
	}
	__atomic_store_n(&tally->busy, 0, __ATOMIC_RELEASE);
}

bool mf_gate_hold(void)
{
	uint32_t n;

	mf_lock_take(&lock);
	if (mf_gate_is_frozen)
		return false;
	__atomic_store_n(&mf_gate_closed, 1, __ATOMIC_SEQ_CST);
	/*
	 * To close the gate, wait only for the tallies that are in use now, since no other can be busy. A thread that
	 * starts using another tally finds the gate closed.
	 */
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
	mf_lock_reset(&lock);
}
