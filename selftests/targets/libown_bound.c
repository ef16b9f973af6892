// SPDX-License-Identifier: GPL-2.0
// libown_library.c, bound to its own definitions.

#include "libown_library.c"
