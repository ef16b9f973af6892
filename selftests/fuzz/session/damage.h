/* SPDX-License-Identifier: GPL-2.0 */
/* Damages a session as stray writes of its program would, and mends it afterwards. */
#ifndef MASSIF_SELFTESTS_DAMAGE_H
#define MASSIF_SELFTESTS_DAMAGE_H

#include "selftests/fuzz/fuzz.h"
#include "selftests/fuzz/session/session.h"

/*
 * Applies the rest of @input, which is a list of patches: region, number of bytes, offset in what the region uses (16 bits),
 * bytes. Of the table of regions in the header, only patches that begin in it change it.
 */
void fuzz_damage(const struct fuzz_session *session, struct fuzz_input *input);

/* Makes the session what it was before, also if readers have written to it, or have allocated pages of its file. */
void fuzz_mend(const struct fuzz_session *session);

#endif
