/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counts the bytes that are mapped to hold the code of patches. For tests that link only the part of the shim that
 * patches code.
 */
#ifndef MASSIF_SELFTESTS_CODE_MEMORY_H
#define MASSIF_SELFTESTS_CODE_MEMORY_H

#include <stddef.h>

extern size_t code_memory_bytes;

#endif
