// SPDX-License-Identifier: GPL-2.0
// own_ipa.c without optimisation.

#include "own_ipa.c"
