/* SPDX-License-Identifier: GPL-2.0 */
/* Expands %p, %n, %q{VAR} and %% in names of output files. */
#ifndef MASSIF_CTL_OUTNAME_H
#define MASSIF_CTL_OUTNAME_H

#include <sys/types.h>

#include "base/error.h"

/*
 * Expands @pattern for process @pid; if @pid is 0, the pid is unknown and %p is left unexpanded. As in Massif, the
 * first %n becomes @number, and each subsequent one is one higher. The caller frees *@name. Returns 0, -ENOMEM, or
 * -EINVAL with Massif's message in @err.
 */
int mf_outname_expand(const char *pattern, pid_t pid, unsigned int number, char **name,
		      struct mf_error *err);

/*
 * The same for a @pattern that a profiled program supplied, and whose expansion it receives. Refuses %q with -EINVAL,
 * because the environment of massif-ctl may contain what the program must not know: the program may have dropped
 * privileges since, or may have been started without these variables.
 */
int mf_outname_expand_foreign(const char *pattern, pid_t pid, unsigned int number, char **name, struct mf_error *err);

#endif
