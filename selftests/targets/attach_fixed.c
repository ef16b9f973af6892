// SPDX-License-Identifier: GPL-2.0
// Like target attach, but at a fixed address: then the address of malloc, for all objects, is that of an entry in this
// program's procedure linkage table.

#include <stdlib.h>

void *(*volatile attach_malloc)(size_t) = malloc;

#include "attach.c"
