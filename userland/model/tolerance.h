/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Computes how far the total may exceed the recorded peak without counting as a new peak.
 *
 * Massif computes this in double precision. The shim runs in programs that may have unmasked floating-point exceptions
 * or changed the rounding mode, or that may test the exception flags. So it computes the same result with integers and
 * leaves the floating-point state alone.
 */
#ifndef MASSIF_MODEL_TOLERANCE_H
#define MASSIF_MODEL_TOLERANCE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns (uint64_t)((double)@total * *@per_cent / 100) as x86-64 computes it with rounding to nearest. Where the
 * conversion is undefined in C, a negative result wraps, and 2^64 or more gives 0. *@per_cent is passed by pointer,
 * because a double argument would use a vector register.
 */
uint64_t mf_tolerance_bytes(uint64_t total, const double *per_cent);

/* Returns whether *@per_cent is negative. If so, even a total below the recorded peak may be a new peak. */
bool mf_tolerance_is_negative(const double *per_cent);

#endif
