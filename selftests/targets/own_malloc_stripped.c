// SPDX-License-Identifier: GPL-2.0
// own_malloc.c with exported symbols only.

#include "own_malloc.c"
