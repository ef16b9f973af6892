// SPDX-License-Identifier: GPL-2.0
// The same, as compiled without optimization.

#include "own_malloc.c"
