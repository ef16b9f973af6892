/* SPDX-License-Identifier: GPL-2.0 */
/*
 * By how much the total may exceed the recorded peak before there is a new one.
 *
 * Massif computes this in double precision. The shim runs in programs that may have unmasked
 * floating-point exceptions, changed the rounding mode, or test the exception flags, so it computes the
 * same result with integers and leaves the floating-point state alone.
 */
#ifndef MASSIF_MODEL_TOLERANCE_H
#define MASSIF_MODEL_TOLERANCE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The bytes that (uint64_t)((double)@total * *@per_cent / 100) has on x86-64, rounded to nearest, also
 * where C leaves the conversion open: a negative result wraps; one of 2^64 and more is 0.
 * By pointer: a double that is passed by value would be in a vector register.
 */
uint64_t mf_tolerance_bytes(uint64_t total, const double *per_cent);

/* Whether *@per_cent < 0: then a total below the recorded peak may be a new one. */
bool mf_tolerance_is_negative(const double *per_cent);

#endif
