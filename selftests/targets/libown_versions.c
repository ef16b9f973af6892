// SPDX-License-Identifier: GPL-2.0
// The same, with versions of its definitions.

#include "libown_library.c"
