// SPDX-License-Identifier: GPL-2.0
// own_ipa.c, compiled at a higher optimisation level and as position-dependent code.

#include "own_ipa.c"
