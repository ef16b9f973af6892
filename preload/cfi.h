/* SPDX-License-Identifier: GPL-2.0 */
/* How one return address's frame is undone, as the .eh_frame of the object tells that holds it. */
#ifndef MASSIF_PRELOAD_CFI_H
#define MASSIF_PRELOAD_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/rows.h"

/* The rule for the code at @pc (not a return address: subtract 1 from one). Takes no lock. */
struct mf_cfi_rule mf_cfi_find(uint64_t pc);

/* Does the description of some code begin at @pc, exactly? */
bool mf_cfi_is_start(uint64_t pc);

#endif
