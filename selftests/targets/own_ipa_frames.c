// SPDX-License-Identifier: GPL-2.0
// own_ipa.c with frame pointers, and a shadow stack's landing places.

#include "own_ipa.c"
