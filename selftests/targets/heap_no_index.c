// SPDX-License-Identifier: GPL-2.0
// heap_stacks, linked so that its unwind rules have no index (.eh_frame_hdr).

#include "heap_stacks.c"
