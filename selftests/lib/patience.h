/* SPDX-License-Identifier: GPL-2.0 */
/* Included before each guest test: on a kernel that is slow, MASSIF_PATIENCE times as much time. */
#ifndef SELFTESTS_PATIENCE_H
#define SELFTESTS_PATIENCE_H

#include <stdlib.h>
#include <unistd.h>

/* The harness sets a case's limit with alarm(). */
static inline unsigned int patient_alarm(unsigned int seconds)
{
	const char *factor = getenv("MASSIF_PATIENCE");

	return alarm(seconds * (factor ? atoi(factor) : 1));
}

#define alarm patient_alarm

#endif
