// SPDX-License-Identifier: GPL-2.0
// diff_new, optimised: most of the library's templates are inlined.

#include "diff_new.cc"
