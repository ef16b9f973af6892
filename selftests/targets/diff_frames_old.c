// SPDX-License-Identifier: GPL-2.0
// The same with older debug information, more inlining and fixed addresses.

#include "diff_frames.c"
