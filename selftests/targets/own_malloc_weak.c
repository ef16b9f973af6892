// SPDX-License-Identifier: GPL-2.0
// own_malloc.c with weak definitions.

#define OWN __attribute__((weak, noipa))
#include "own_malloc.c"
