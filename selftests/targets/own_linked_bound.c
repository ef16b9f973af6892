// SPDX-License-Identifier: GPL-2.0
// own_linked.c with a library linked with -Bsymbolic, which always calls its own allocation functions.

#include "own_linked.c"
