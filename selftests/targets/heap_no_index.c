// SPDX-License-Identifier: GPL-2.0
// heap_stacks, linked without an index of its unwind rules (.eh_frame_hdr).

#include "heap_stacks.c"
