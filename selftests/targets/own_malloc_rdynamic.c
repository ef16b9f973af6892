// SPDX-License-Identifier: GPL-2.0
// own_malloc.c with all symbols exported.

#include "own_malloc.c"
