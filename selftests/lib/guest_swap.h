/* SPDX-License-Identifier: GPL-2.0 */
/* Provides swap space in a guest. It disappears with the guest. */
#ifndef MASSIF_SELFTESTS_GUEST_SWAP_H
#define MASSIF_SELFTESTS_GUEST_SWAP_H

#include <stdbool.h>

struct guest_swap {
	const char *name;
	const char *begin, *end; /* shell scripts */
};

/* A zram device, which is compressed kernel memory. Pages go there without passing through the swap cache. */
extern const struct guest_swap guest_swap_zram;

/* A file on an ext4 file system, for which the kernel looks up the file's blocks. */
extern const struct guest_swap guest_swap_file;

/* Returns false if the kernel lacks the drivers (zram, ext4), both built in and as modules. */
bool guest_swap_begin(const struct guest_swap *swap);

/* Takes the space away again. Returns false if that failed. */
bool guest_swap_end(const struct guest_swap *swap);

#endif
