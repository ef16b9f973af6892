/* SPDX-License-Identifier: GPL-2.0 */
/* Included before each guest test. Multiplies time limits by MASSIF_PATIENCE, for slow kernels. */
#ifndef MASSIF_SELFTESTS_PATIENCE_H
#define MASSIF_SELFTESTS_PATIENCE_H

#include <stdlib.h>
#include <unistd.h>

/* Returns the factor by which time limits are multiplied. */
static inline unsigned int patience(void)
{
	const char *factor = getenv("MASSIF_PATIENCE");

	return factor ? (unsigned int)atoi(factor) : 1;
}

/* Replaces alarm(), with which the harness sets a case's time limit. */
static inline unsigned int patient_alarm(unsigned int seconds)
{
	return alarm(seconds * patience());
}

#define alarm patient_alarm

#endif
