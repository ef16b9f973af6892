/* SPDX-License-Identifier: GPL-2.0 */
/* Unwind rules for the program's code, from the .eh_frame of the objects that contain it. */
#ifndef MASSIF_PRELOAD_CFI_H
#define MASSIF_PRELOAD_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi/rows.h"

/*
 * Finds the rule for the code at @pc (for a return address pass one less). Takes no lock. Returns whether the code
 * belongs to an object; the rule is then valid until that object is unloaded.
 */
bool mf_cfi_find(uint64_t pc, struct mf_cfi_rule *rule);

/* Returns the object that contains @pc and its unwind tables; an empty one if there is none. Takes no lock. */
struct mf_rows_object mf_cfi_object(uint64_t pc);

#endif
