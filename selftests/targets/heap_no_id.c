// SPDX-License-Identifier: GPL-2.0
// heap_stacks, linked without a build id.

#include "heap_stacks.c"
