// SPDX-License-Identifier: GPL-2.0
// The same, bound to its own definitions.

#include "libown_library.c"
