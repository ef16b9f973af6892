/* SPDX-License-Identifier: GPL-2.0 */
/* Uses /proc/PID/fail-nth to make the calling thread's n-th allocation or user-space copy fail. */
#ifndef MASSIF_SELFTESTS_FAIL_NTH_H
#define MASSIF_SELFTESTS_FAIL_NTH_H

#include <stdbool.h>

/*
 * Enables failure injection for all allocations, including those that may sleep, and keeps injected failures out of the
 * log. Returns false on error.
 */
bool fail_nth_prepare(void);

/*
 * Opens the calling process's /proc/PID/fail-nth, for use by fail_nth(). The file affects the first thread of whichever
 * process opens it, so a child must open it again. Returns a descriptor, or -1 if the kernel has no such file.
 */
int fail_nth_open(void);

/* Makes the @n-th allocation or copy after this call fail. If @n is 0, none fails. */
void fail_nth(int nth, unsigned int n);

/* Returns whether a failure has occurred since fail_nth(), and disables further failures. */
bool fail_nth_ended(int nth);

#endif
