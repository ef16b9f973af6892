/* SPDX-License-Identifier: GPL-2.0 */
/* Which blocks count as temporary: --temporary=N. */
#ifndef MASSIF_CTL_TEMPORARY_H
#define MASSIF_CTL_TEMPORARY_H

#include "base/error.h"
#include "ctl/query/query.h"
#include "recording/reader.h"

/*
 * Parses the value of --temporary: how many other blocks the thread of a temporary block may have allocated before it freed
 * the block. Returns 0, or -EINVAL with a message if recordings cannot answer this exactly.
 */
int mf_temporary_parse(const char *text, struct mf_query *query, struct mf_error *err);

/*
 * Replaces the temporary blocks in the counts of @process with those that the query is about, and removes the sums of
 * threads, of which only the usual temporary blocks are known. Without --temporary, changes nothing. Returns 0, or -ENODATA
 * with a message if the process does not have what is needed.
 */
int mf_temporary_apply(const struct mf_query *query, struct mf_recorded *process, struct mf_error *err);

#endif
