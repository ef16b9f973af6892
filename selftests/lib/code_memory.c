// SPDX-License-Identifier: GPL-2.0
// In the place of preload/core/own_memory.c, for tests of patches alone.

#include "selftests/lib/code_memory.h"

#include "preload/core/own_memory.h"

size_t code_memory_bytes;

void mf_own_memory_add_code(size_t bytes)
{
	code_memory_bytes += bytes;
}
