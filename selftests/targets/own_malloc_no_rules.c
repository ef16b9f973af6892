// SPDX-License-Identifier: GPL-2.0
// The same without unwind rules and without frame pointers: what is nested cannot be told by its stack alone.

#include "own_malloc.c"
