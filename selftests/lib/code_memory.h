/* SPDX-License-Identifier: GPL-2.0 */
/* What patches have mapped for code, in tests of patches alone. */
#ifndef MASSIF_SELFTESTS_CODE_MEMORY_H
#define MASSIF_SELFTESTS_CODE_MEMORY_H

#include <stddef.h>

extern size_t code_memory_bytes;

#endif
