// SPDX-License-Identifier: GPL-2.0
// Lets massif-ctl take a last sample of the resident set when the program calls exit() or returns from main.
//
// Only with --rss. The program's own functions for its end (atexit) have run by then, and those of most libraries; all its
// memory is still there. The only system call is futex, which malloc may also make; in a sandbox there is none, and no such
// sample. A program that ends in another way (_exit, a signal, exec) is not waited for.

#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/seccomp.h"
#include "core/session.h"

enum {
	PAUSE_MS = 10,
	/*
	 * How often the program waits so long: until massif-ctl begins with the sample, which can take a while on a busy
	 * machine, and until it has taken it.
	 */
	BEGIN_PAUSES = 50,
	TAKE_PAUSES = 150,
};

/* Waits for PAUSE_MS, or until *@word is no longer @value. A signal ends the wait early. */
static void wait_while(uint32_t *word, uint32_t value)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000l };

	syscall(SYS_futex, word, FUTEX_WAIT, value, &pause, NULL, 0);
}

/* Returns whether massif-ctl has been killed, or has gone to the background, where it takes no samples. */
static bool is_watcher_dead(void)
{
	return __atomic_load_n(&mf_session_store.header->watcher, __ATOMIC_ACQUIRE) & FUTEX_OWNER_DIED;
}

static void await_sample(uint32_t *word)
{
	int begin = BEGIN_PAUSES, take = TAKE_PAUSES;

	while (!is_watcher_dead()) {
		uint32_t value = __atomic_load_n(word, __ATOMIC_ACQUIRE);

		if (value == MF_ENDING_WAITS && begin--)
			wait_while(word, value);
		else if (value == MF_ENDING_SAMPLED && take--)
			wait_while(word, value);
		else
			break;
	}
	__atomic_store_n(word, MF_ENDING_OVER, __ATOMIC_RELEASE);
}

__attribute__((destructor)) static void end(void)
{
	uint32_t awaited = MF_ENDING_AWAITED, *word;
	int saved = errno;

	if (!mf_session_is_active() || mf_seccomp_is_on() || mf_session_store.header->may_not_wait ||
	    is_watcher_dead())
		return;
	word = &mf_session_store.header->ending;
	if (!__atomic_compare_exchange_n(word, &awaited, MF_ENDING_WAITS, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
	await_sample(word);
	errno = saved;
}
