// SPDX-License-Identifier: GPL-2.0
// The same with a library whose allocation functions are chosen when it is loaded.

#include "own_linked.c"
