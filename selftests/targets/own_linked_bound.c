// SPDX-License-Identifier: GPL-2.0
// own_linked.c with a library that is bound to its own definitions.

#include "own_linked.c"
