/* SPDX-License-Identifier: GPL-2.0 */
/* The section of a recording that has samples of the resident set; massif.rec(5) describes it. */
#ifndef MASSIF_RECORDING_RESIDENCY_SECTION_H
#define MASSIF_RECORDING_RESIDENCY_SECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "profile/residency.h"

void mf_residency_section_add(struct mf_bytes *bytes, const struct mf_residency *residency, size_t n_contexts);

/*
 * Reads what mf_residency_section_add() has written for a process with @n_contexts contexts. The caller releases
 * @residency by mf_residency_deinit(), also after an error. Returns 0, -EBADMSG, or -ENOMEM.
 */
int mf_residency_section_take(struct mf_cursor *cursor, size_t n_contexts, struct mf_residency *residency);

#endif
