// SPDX-License-Identifier: GPL-2.0
// diff_frames, compiled with an older DWARF version, more inlining and fixed addresses (see build.mk).

#include "diff_frames.c"
