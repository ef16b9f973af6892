/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The standard libraries of C++ and Rust: their calls say how a program allocates, with a vector or a string, but not
 * which part of the program does. Reports that name one call of a stack name the first one outside of these libraries; of the
 * code that touched a page first, also outside of the C library and of allocators.
 */
#ifndef MASSIF_REPORT_STANDARD_H
#define MASSIF_REPORT_STANDARD_H

#include <stdbool.h>
#include <stddef.h>

#include "report/moment.h"
#include "symbols/symbolizer.h"

/* Returns whether the code at @location belongs to the standard library of C++ or Rust. */
bool mf_standard_has(const struct mf_location *location);

/* Returns whether the code at @location belongs to the C library or the dynamic loader. */
bool mf_standard_is_c(const struct mf_location *location);

/*
 * Returns how many calls at the start of @calls belong to a standard library, or 0 if no code of the program follows:
 * then the library has allocated for itself, as libstdc++ does when it is loaded.
 */
size_t mf_standard_calls(const struct mf_call *calls, size_t n);

/*
 * The same for a stack that touched a page first, which mostly ends in memset() or within malloc(): also counts calls of the
 * C library, of allocators, and of the allocation functions in @options.
 */
size_t mf_standard_touching_calls(const struct mf_call *calls, size_t n, const struct mf_report_options *options);

#endif
