// SPDX-License-Identifier: GPL-2.0
// random_calls.c with functions inlined, and optimised.

#define MAY_INLINE inline __attribute__((always_inline))

#include "random_calls.c"
