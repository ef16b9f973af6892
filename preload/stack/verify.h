/* SPDX-License-Identifier: GPL-2.0 */
/* Compares each stack with a fresh walk by libunwind: for tests of the shim, and for doubters. */
#ifndef MASSIF_PRELOAD_VERIFY_H
#define MASSIF_PRELOAD_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind.h"

/*
 * Loads libunwind, for this process alone: its exception functions stay out of the program's sight.
 * False, with a note in the session memory, if it is not there.
 */
bool mf_verify_start(void);

/* Counts the present stack from @caller on, and whether @context has other frames. */
void mf_verify_stack(const struct mf_registers *caller, uint32_t context);

#endif
