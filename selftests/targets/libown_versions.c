// SPDX-License-Identifier: GPL-2.0
// libown_library.c with versioned definitions.

#include "libown_library.c"
