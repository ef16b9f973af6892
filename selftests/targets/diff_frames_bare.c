// SPDX-License-Identifier: GPL-2.0
// The same without debug information, but with symbols.

#include "diff_frames.c"
