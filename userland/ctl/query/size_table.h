/* SPDX-License-Identifier: GPL-2.0 */
/* Prints how many blocks of which sizes a program has allocated. */
#ifndef MASSIF_CTL_SIZE_TABLE_H
#define MASSIF_CTL_SIZE_TABLE_H

#include "base/error.h"
#include "ctl/query/terminal.h"
#include "profile/profile.h"

/* Prints a row for each power of two from the smallest to the largest size. Returns 0, or -ENODATA with a message. */
int mf_size_table_print(const struct mf_terminal *terminal, const struct mf_profile *profile, struct mf_error *err);

#endif
