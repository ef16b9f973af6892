// SPDX-License-Identifier: GPL-2.0
// A lock built on a futex. All functions preserve errno, which belongs to the program.

#include "lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void mf_lock_take(struct mf_lock *lock)
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

void mf_lock_give(struct mf_lock *lock)
{
	if (__atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE) == 2)
		syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void mf_lock_pause(const uint32_t *word, uint32_t value)
{
	const struct timespec moment = { .tv_nsec = 20000 };
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &moment, NULL, 0);
	errno = saved;
}
