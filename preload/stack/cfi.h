/* SPDX-License-Identifier: GPL-2.0 */
/* Finds unwind rules for the program's code, in the .eh_frame sections of the loaded objects. */
#ifndef MASSIF_PRELOAD_CFI_H
#define MASSIF_PRELOAD_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi/rows.h"

/*
 * Finds the rule for the code at @pc (for a return address, pass the address minus 1). Takes no lock. Returns true if
 * the code belongs to an object; the rule is then valid until that object is unloaded.
 */
bool mf_cfi_find(uint64_t pc, struct mf_cfi_rule *rule);

/*
 * Returns the object that contains @pc, with its unwind tables, or an empty struct if there is no such object. Takes no
 * lock.
 */
struct mf_rows_object mf_cfi_object(uint64_t pc);

#endif
