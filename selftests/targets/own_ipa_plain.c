// SPDX-License-Identifier: GPL-2.0
// own_ipa.c with no optimisation.

#include "own_ipa.c"
