/* SPDX-License-Identifier: GPL-2.0 */
/* Where code is returned to: behind a call. */
#ifndef MASSIF_UNWIND_CALLSITE_H
#define MASSIF_UNWIND_CALLSITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MF_CALLSITE_BYTES 7u /* of the longest call, as far as its length shows */

/*
 * Are the last of the @size bytes (more than MF_CALLSITE_BYTES are not looked at) before @end a call?
 * *@distance: from @end to what is called; 0 if that is not in it.
 */
bool mf_callsite_ends(const uint8_t *end, size_t size, int64_t *distance);

#endif
