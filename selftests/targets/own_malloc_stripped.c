// SPDX-License-Identifier: GPL-2.0
// The same, without symbols but those for others.

#include "own_malloc.c"
