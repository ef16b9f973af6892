// SPDX-License-Identifier: GPL-2.0
// random_calls.c with inlined functions, optimised.

#define MAY_INLINE inline __attribute__((always_inline))

#include "random_calls.c"
