// SPDX-License-Identifier: GPL-2.0
// The same with a library that is bound to its own definitions.

#include "own_linked.c"
