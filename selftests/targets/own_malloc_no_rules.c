// SPDX-License-Identifier: GPL-2.0
// own_malloc.c, compiled without unwind rules or frame pointers: nested calls cannot be recognised from the stack
// alone.

#include "own_malloc.c"
