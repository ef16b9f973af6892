// SPDX-License-Identifier: GPL-2.0
// own_linked.c with a library whose allocation functions are chosen when it is loaded (IFUNC).

#include "own_linked.c"
