/* SPDX-License-Identifier: GPL-2.0 */
/* Included before each guest test: on a kernel that is slow, MASSIF_PATIENCE times as much time. */
#ifndef SELFTESTS_PATIENCE_H
#define SELFTESTS_PATIENCE_H

#include <stdlib.h>
#include <unistd.h>

/* How many times as long as usual something may take before it is given up. */
static inline unsigned int patience(void)
{
	const char *factor = getenv("MASSIF_PATIENCE");

	return factor ? (unsigned int)atoi(factor) : 1;
}

/* The harness sets a case's limit with alarm(). */
static inline unsigned int patient_alarm(unsigned int seconds)
{
	return alarm(seconds * patience());
}

#define alarm patient_alarm

#endif
