/* SPDX-License-Identifier: GPL-2.0 */
/* The table of the formats in which verdicts are written. */
#ifndef MASSIF_CTL_VERDICT_WRITERS_H
#define MASSIF_CTL_VERDICT_WRITERS_H

#include <stdio.h>

#include "ctl/check/verdict.h"

/* A format. The caller looks for errors of @out. */
struct mf_verdict_writer {
	const char *name;
	void (*write)(FILE *out, const struct mf_verdicts *verdicts);
};

extern const struct mf_verdict_writer mf_verdict_writers[];
extern const size_t mf_n_verdict_writers;

/* Returns the format called @name, or NULL. */
const struct mf_verdict_writer *mf_verdict_writers_find(const char *name);

#endif
