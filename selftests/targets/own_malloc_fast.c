// SPDX-License-Identifier: GPL-2.0
// own_malloc.c with parts of the allocator inlined into its callers.

#define OWN
#include "own_malloc.c"
