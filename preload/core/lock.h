/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A lock of three states (0 free, 1 held, 2 held and waited for) on a futex: pthread's would do as
 * well, but may be replaced by the program (thread sanitizers and lock checkers do). Not recursive;
 * never held over foreign code.
 */
#ifndef MASSIF_PRELOAD_LOCK_H
#define MASSIF_PRELOAD_LOCK_H

#include <stdint.h>

struct mf_lock {
	uint32_t word;
};

void mf_lock_take(struct mf_lock *lock);
void mf_lock_give(struct mf_lock *lock);

/*
 * Gives the processor to others for some microseconds, or until *@word is not @value; nobody has to wake the
 * caller. By futex(2), which malloc's own locks use: a sandbox need not allow sched_yield or nanosleep.
 */
void mf_lock_pause(const uint32_t *word, uint32_t value);

#endif
