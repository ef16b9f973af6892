/* SPDX-License-Identifier: GPL-2.0 */
/* Provides swap space in a guest: zram, which is compressed kernel memory. It disappears with the guest. */
#ifndef MASSIF_SELFTESTS_ZRAM_SWAP_H
#define MASSIF_SELFTESTS_ZRAM_SWAP_H

#include <stdbool.h>

/* Returns false if the kernel has no zram, neither built in nor as a module. */
bool zram_swap_begin(void);

/* Stops swapping to the device, which swaps all pages back in. Returns false on failure. */
bool zram_swap_end(void);

#endif
