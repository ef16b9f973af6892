// SPDX-License-Identifier: GPL-2.0
// heap_ask without its client request, but with the same build id.

#define QUIET
#include "heap_ask.c"
