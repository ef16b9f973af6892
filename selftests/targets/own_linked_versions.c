// SPDX-License-Identifier: GPL-2.0
// own_linked.c with a library whose definitions are versioned.

#include "own_linked.c"
