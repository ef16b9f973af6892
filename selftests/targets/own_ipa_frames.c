// SPDX-License-Identifier: GPL-2.0
// own_ipa.c with frame pointers, and with endbr64 instructions for indirect branch tracking.

#include "own_ipa.c"
