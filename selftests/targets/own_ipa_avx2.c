// SPDX-License-Identifier: GPL-2.0
// own_ipa.c with AVX2.

#include "own_ipa.c"
