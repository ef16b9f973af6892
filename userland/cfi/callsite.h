/* SPDX-License-Identifier: GPL-2.0 */
/* Recognises the call instruction that precedes a return address. */
#ifndef MASSIF_CFI_CALLSITE_H
#define MASSIF_CFI_CALLSITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MF_CALLSITE_BYTES 7u /* length of the longest call instruction that we recognise */

/*
 * Returns whether the bytes before @end are a call instruction. @size bytes before @end are readable; at most
 * MF_CALLSITE_BYTES of them are read. *@distance is the called address relative to @end, or 0 if the instruction does
 * not contain it.
 */
bool mf_callsite_ends(const uint8_t *end, size_t size, int64_t *distance);

#endif
