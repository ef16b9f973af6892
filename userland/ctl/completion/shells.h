/* SPDX-License-Identifier: GPL-2.0 */
/* The scripts that complete the words of massif-ctl in a shell. */
#ifndef MASSIF_CTL_SHELLS_H
#define MASSIF_CTL_SHELLS_H

#include <stdio.h>

struct mf_shell {
	const char *name;
	int (*write)(FILE *out); /* returns 0 or -ENOMEM; errors of @out are left to the caller */
};

/* Ends with a row whose name is NULL. */
extern const struct mf_shell mf_shells[];

#endif
