/* SPDX-License-Identifier: GPL-2.0 */
/* Something to swap to, in a guest: compressed memory of the kernel's own. It goes with the guest. */
#ifndef SELFTESTS_LIB_ZRAM_SWAP_H
#define SELFTESTS_LIB_ZRAM_SWAP_H

#include <stdbool.h>

/* False: this kernel has no zram, neither built in nor as a module. */
bool zram_swap_begin(void);

/* Reads everything back to memory. False if that failed. */
bool zram_swap_end(void);

#endif
