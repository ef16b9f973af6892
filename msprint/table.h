/* SPDX-License-Identifier: GPL-2.0 */
/* The table of snapshots, with the trees between its rows. */
#ifndef MF_MSPRINT_TABLE_H
#define MF_MSPRINT_TABLE_H

#include "input.h"
#include "number.h"

struct mf_failure;
struct mf_output;
struct mf_profile;

/*
 * Prints it while reading the input again, which must be rewound. The profile says how many
 * snapshots there are. Fails if the input is not what it was, or the output cannot be written.
 */
int mf_table_print(const struct mf_profile *profile, struct mf_input *input,
		   struct mf_number threshold, struct mf_output *out, struct mf_failure *failure);

#endif
