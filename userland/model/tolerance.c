// SPDX-License-Identifier: GPL-2.0
// Computes how far the total may exceed the recorded peak without counting as a new peak. Massif computes this with
// three operations on doubles: it converts the total to a double, multiplies it, and divides by 100. Here the same is
// done with integers.

#include "model/tolerance.h"

#include <string.h>

#define FRACTION_BITS	 52 /* number of bits in the fraction of a double, without the leading 1 */
#define PRECISION	 53 /* number of bits in a mantissa, including the leading 1 */
#define EXPONENT_MASK	 0x7ffu
#define EXPONENT_BIAS	 1075 /* 1023 + 52: exponent bias of a double whose 53-bit mantissa is read as an integer */
#define SIGN		 (1ull << 63)
#define LEADING_ONE	 (1ull << FRACTION_BITS)
/*
 * The mantissa is shifted left by this many bits before it is divided by 100, so that the quotient has enough bits. The
 * shifted mantissa still fits into 64 bits.
 */
#define QUOTIENT_SHIFT	 11

/* The value mantissa * 2^exponent. */
struct number {
	uint64_t mantissa; /* the significant digits, as an integer of at most 53 bits */
	int exponent;
};

static int width_of(unsigned __int128 value)
{
	uint64_t high = (uint64_t)(value >> 64), low = (uint64_t)value;

	return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
}

/* Rounds @value * 2^@exponent to 53 bits; ties go to the even mantissa. */
static struct number round_to_nearest(unsigned __int128 value, int exponent)
{
	int excess = width_of(value) - PRECISION;
	unsigned __int128 rest, half;
	uint64_t mantissa;

	if (excess <= 0)
		return (struct number){ (uint64_t)value, exponent };
	half = (unsigned __int128)1 << (excess - 1);
	rest = value & (2 * half - 1);
	mantissa = (uint64_t)(value >> excess);
	exponent += excess;
	mantissa += rest > half || (rest == half && mantissa & 1);
	if (mantissa >> PRECISION) {
		mantissa >>= 1;
		exponent++;
	}
	return (struct number){ mantissa, exponent };
}

static uint64_t bits_of(const double *number)
{
	uint64_t bits;

	memcpy(&bits, number, sizeof(bits));
	return bits;
}

static struct number magnitude_of(uint64_t bits)
{
	int exponent = (int)(bits >> FRACTION_BITS & EXPONENT_MASK);
	uint64_t fraction = bits & (LEADING_ONE - 1);

	/* Subnormal numbers have the smallest exponent and no leading 1. */
	if (!exponent)
		return (struct number){ fraction, 1 - EXPONENT_BIAS };
	return (struct number){ fraction | LEADING_ONE, exponent - EXPONENT_BIAS };
}

static struct number multiply(struct number a, struct number b)
{
	return round_to_nearest((unsigned __int128)a.mantissa * b.mantissa, a.exponent + b.exponent);
}

static struct number divide_by_100(struct number a)
{
	uint64_t scaled, quotient;

	if (!a.mantissa)
		return a;
	/* Normalise a subnormal number, so that the quotient has at least 55 bits. */
	while (!(a.mantissa & LEADING_ONE)) {
		a.mantissa <<= 1;
		a.exponent--;
	}
	scaled = a.mantissa << QUOTIENT_SHIFT;
	quotient = scaled / 100;
	/*
	 * Append one more bit to the quotient: 1 if the division left a remainder, else 0. The bit is below the
	 * rounding position, where it distinguishes an exact tie from a value above one half.
	 */
	return round_to_nearest((unsigned __int128)quotient << 1 | (scaled % 100 != 0),
				a.exponent - QUOTIENT_SHIFT - 1);
}

/* Returns the integer part, or 0 if it does not fit in 64 bits. */
static uint64_t truncate(struct number a)
{
	if (!a.mantissa)
		return 0;
	if (a.exponent >= 0)
		return width_of(a.mantissa) + a.exponent > 64 ? 0 : a.mantissa << a.exponent;
	return a.exponent <= -64 ? 0 : a.mantissa >> -a.exponent;
}

/* Returns the integer part of -@a. If it does not fit in 64 bits, returns INT64_MIN, as a conversion on x86-64 does. */
static uint64_t truncate_negative(struct number a)
{
	uint64_t magnitude = truncate(a);
	bool fits = width_of(a.mantissa) + a.exponent < 64;

	return !a.mantissa || fits ? -magnitude : SIGN;
}

uint64_t mf_tolerance_bytes(uint64_t total, const double *per_cent)
{
	uint64_t bits = bits_of(per_cent);
	struct number factor = magnitude_of(bits), excess;

	excess = divide_by_100(multiply(round_to_nearest(total, 0), factor));
	return bits & SIGN ? truncate_negative(excess) : truncate(excess);
}

bool mf_tolerance_is_negative(const double *per_cent)
{
	return bits_of(per_cent) > SIGN;
}
