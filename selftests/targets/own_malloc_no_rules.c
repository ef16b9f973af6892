// SPDX-License-Identifier: GPL-2.0
// own_malloc.c without unwind rules and frame pointers: nested calls cannot be recognised by the stack alone.

#include "own_malloc.c"
