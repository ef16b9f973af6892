// SPDX-License-Identifier: GPL-2.0
// own_new.cc with all symbols exported.

#include "own_new.cc"
