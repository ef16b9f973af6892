// SPDX-License-Identifier: GPL-2.0
// The same with a library whose definitions have versions.

#include "own_linked.c"
