/* SPDX-License-Identifier: GPL-2.0 */
/* Whether memory can be read. */
#ifndef MASSIF_PRELOAD_READABLE_H
#define MASSIF_PRELOAD_READABLE_H

#include <stdbool.h>
#include <stdint.h>

/* Can the word at @address be read now? Takes a system call; keeps errno. */
bool mf_readable_word(uint64_t address);

#endif
