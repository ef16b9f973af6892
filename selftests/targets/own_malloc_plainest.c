// SPDX-License-Identifier: GPL-2.0
// own_malloc.c compiled without optimisation.

#include "own_malloc.c"
