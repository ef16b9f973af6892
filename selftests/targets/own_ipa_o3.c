// SPDX-License-Identifier: GPL-2.0
// own_ipa.c with more optimisation, position-dependent.

#include "own_ipa.c"
