// SPDX-License-Identifier: GPL-2.0
// random_calls.c compiled with optimisation, and with some functions always inlined.

#define MAY_INLINE inline __attribute__((always_inline))

#include "random_calls.c"
