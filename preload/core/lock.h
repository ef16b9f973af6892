/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A futex-based lock with three states (0 free, 1 held, 2 held with waiters). pthread_mutex_lock() is not used because
 * the program may replace it, as thread sanitizers and lock checkers do. Not recursive. Never held while the program's
 * code or another library's code is running.
 */
#ifndef MASSIF_PRELOAD_LOCK_H
#define MASSIF_PRELOAD_LOCK_H

#include <stdint.h>

struct mf_lock {
	uint32_t word;
	int cancel_type; /* the one that the thread had before it took the lock: PTHREAD_CANCEL_... */
};

void mf_lock_take(struct mf_lock *lock);
void mf_lock_give(struct mf_lock *lock);

/*
 * In a forked child: releases the lock, since the thread that holds it need not exist there. If it does, because a signal
 * handler has forked, it will release the lock again.
 */
void mf_lock_reset(struct mf_lock *lock);

/*
 * Sleeps for 20 microseconds, or returns at once if *@word is not @value. Nobody needs to wake the caller. Uses
 * futex(2), as malloc's own locks do, because a sandbox may forbid sched_yield() and nanosleep().
 */
void mf_lock_pause(const uint32_t *word, uint32_t value);

#endif
