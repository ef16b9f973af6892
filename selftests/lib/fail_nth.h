/* SPDX-License-Identifier: GPL-2.0 */
/* Makes the n-th allocation, or copy to or from user space, of the calling thread fail: /proc/PID/fail-nth. */
#ifndef MASSIF_SELFTESTS_FAIL_NTH_H
#define MASSIF_SELFTESTS_FAIL_NTH_H

#include <stdbool.h>

/*
 * Enables failure injection for all allocations, including those that may sleep, and keeps the failures out of the log.
 * Returns false on an error.
 */
bool fail_nth_prepare(void);

/*
 * Opens the file /proc/PID/fail-nth of the calling process, for fail_nth(). The file acts on the first thread of the
 * process that opens it, so a child must open the file again. Returns a descriptor, or -1 if the kernel has no such
 * file.
 */
int fail_nth_open(void);

/* Makes the @n-th allocation or copy after this call fail. If @n is 0, none fails. */
void fail_nth(int nth, unsigned int n);

/* Returns whether a failure has occurred since fail_nth(), and disables further failures. */
bool fail_nth_ended(int nth);

#endif
