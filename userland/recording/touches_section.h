/* SPDX-License-Identifier: GPL-2.0 */
/* The section of a recording that says which code touched the pages of the samples first; massif.rec(5) describes it. */
#ifndef MASSIF_RECORDING_TOUCHES_SECTION_H
#define MASSIF_RECORDING_TOUCHES_SECTION_H

#include <stddef.h>

#include "base/bytes.h"
#include "profile/first_touches.h"
#include "profile/residency.h"

void mf_touches_section_add(struct mf_bytes *bytes, const struct mf_first_touches *touches,
			    const struct mf_residency *residency);

/*
 * Reads what mf_touches_section_add() has written into @touches and the samples of @residency, which have been read. The
 * profile of first touches has @n_contexts contexts. Returns 0, -EBADMSG, or -ENOMEM.
 */
int mf_touches_section_take(struct mf_cursor *cursor, size_t n_contexts, struct mf_first_touches *touches,
			    struct mf_residency *residency);

#endif
