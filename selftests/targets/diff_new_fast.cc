// SPDX-License-Identifier: GPL-2.0
// The same, optimised: most of the library's templates are inlined.

#include "diff_new.cc"
