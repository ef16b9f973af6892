// SPDX-License-Identifier: GPL-2.0
// Replaces preload/core/own_memory.c in tests that link only the patching code.

#include "selftests/lib/code_memory.h"

#include "preload/core/own_memory.h"

size_t code_memory_bytes;

void mf_own_memory_add_code(size_t bytes)
{
	code_memory_bytes += bytes;
}

void mf_own_memory_note(const void *at, size_t bytes)
{
	(void)at;
	(void)bytes;
}
