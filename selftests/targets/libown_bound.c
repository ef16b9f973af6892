// SPDX-License-Identifier: GPL-2.0
// libown_library.c, linked with -Bsymbolic: it always calls its own allocation functions.

#include "libown_library.c"
