// SPDX-License-Identifier: GPL-2.0
// A lock built on a futex. All functions preserve errno, which belongs to the program.
//
// A thread that holds a lock cannot be cancelled, since other threads would wait for it forever: its cancellation is
// deferred, and it reaches no cancellation point. (PTHREAD_CANCEL_DISABLE would not do. glibc decides whether to send the
// signal that cancels a thread by the thread's state, but the thread that gets it looks only at the type.)

#include "lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void take(struct mf_lock *lock)
{
	uint32_t expected = 0;
	int saved;

	if (__atomic_compare_exchange_n(&lock->word, &expected, 1, false, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return;
	saved = errno;
	/* FUTEX_WAIT fails with EAGAIN if the lock has been released in the meantime. */
	while (__atomic_exchange_n(&lock->word, 2, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
	errno = saved;
}

void mf_lock_take(struct mf_lock *lock)
{
	int type = PTHREAD_CANCEL_DEFERRED;

	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
	take(lock);
	lock->cancel_type = type;
}

void mf_lock_give(struct mf_lock *lock)
{
	int type = lock->cancel_type;

	if (__atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE) == 2)
		syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	pthread_setcanceltype(type, NULL);
}

void mf_lock_reset(struct mf_lock *lock)
{
	lock->word = 0;
}

void mf_lock_pause(const uint32_t *word, uint32_t value)
{
	const struct timespec moment = { .tv_nsec = 20000 };
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &moment, NULL, 0);
	errno = saved;
}
