// SPDX-License-Identifier: GPL-2.0
// diff_frames without debug information, but with symbols.

#include "diff_frames.c"
