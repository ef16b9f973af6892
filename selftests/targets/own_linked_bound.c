// SPDX-License-Identifier: GPL-2.0
// own_linked.c, but its library is linked with -Bsymbolic and therefore always calls its own allocation functions.

#include "own_linked.c"
