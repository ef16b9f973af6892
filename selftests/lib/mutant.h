/* SPDX-License-Identifier: GPL-2.0 */
/* Changes files at random: what damage, or somebody hostile, may make of a recording or a massif.out file. */
#ifndef MASSIF_SELFTESTS_MUTANT_H
#define MASSIF_SELFTESTS_MUTANT_H

#include <stdint.h>

#include "base/bytes.h"

/* Makes one to four changes to bytes, numbers or lines of @file. @seed is the state of model_oracle.h's random numbers. */
void mutant_change(struct mf_bytes *file, uint64_t *seed);

/*
 * Changes the contents of one section of the recording @file, and seals it again, so that readers get to see the
 * contents. Damaged recordings stay as they are.
 */
void mutant_change_section(struct mf_bytes *file, uint64_t *seed);

#endif
