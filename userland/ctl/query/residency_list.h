/* SPDX-License-Identifier: GPL-2.0 */
/* Prints the resident sets of all processes of a recording. */
#ifndef MASSIF_CTL_RESIDENCY_LIST_H
#define MASSIF_CTL_RESIDENCY_LIST_H

#include "base/error.h"
#include "ctl/query/query.h"
#include "ctl/query/terminal.h"
#include "recording/reader.h"

/* Prints a line for each process that has samples. Returns 0, or -ENODATA with a message if none has. */
int mf_residency_list_print(const struct mf_terminal *terminal, const struct mf_query *query,
			    const struct mf_recording *recording, struct mf_error *err);

#endif
