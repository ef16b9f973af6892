/* SPDX-License-Identifier: GPL-2.0 */
/* How one return address's frame is undone, as the .eh_frame of the object tells that holds it. */
#ifndef MASSIF_PRELOAD_CFI_H
#define MASSIF_PRELOAD_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi/rows.h"

/*
 * The rule for the code at @pc (not a return address: subtract 1 from one). Takes no lock. Returns whether
 * the code is an object's, and the rule holds as long as that is there.
 */
bool mf_cfi_find(uint64_t pc, struct mf_cfi_rule *rule);

/* The object that @pc is in, and its tables; one without any if there is none. Takes no lock. */
struct mf_rows_object mf_cfi_object(uint64_t pc);

#endif
