// SPDX-License-Identifier: GPL-2.0
// diff_frames with an older DWARF version, more inlining and fixed addresses.

#include "diff_frames.c"
