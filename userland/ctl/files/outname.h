/* SPDX-License-Identifier: GPL-2.0 */
/* Names of output files with %p, %n, %q{VAR} and %% in them. */
#ifndef MASSIF_CTL_OUTNAME_H
#define MASSIF_CTL_OUTNAME_H

#include <sys/types.h>

#include "base/error.h"

/*
 * Expands @pattern for process @pid; 0: it is not known yet, and %p stays as it is. The first %n is @number, each further one is one more, as in
 * Massif. *@name is to be released with free(). Returns 0, -ENOMEM, or -EINVAL with the reason in
 * @err, in Massif's words.
 */
int mf_outname_expand(const char *pattern, pid_t pid, unsigned int number, char **name,
		      struct mf_error *err);

#endif
