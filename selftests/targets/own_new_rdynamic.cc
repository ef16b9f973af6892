// SPDX-License-Identifier: GPL-2.0
// The same, with all of its symbols for others.

#include "own_new.cc"
