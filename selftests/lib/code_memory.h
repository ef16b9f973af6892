/* SPDX-License-Identifier: GPL-2.0 */
/* Records the memory that patches map for code, in tests that link only the patching code. */
#ifndef MASSIF_SELFTESTS_CODE_MEMORY_H
#define MASSIF_SELFTESTS_CODE_MEMORY_H

#include <stddef.h>

extern size_t code_memory_bytes;

#endif
