// SPDX-License-Identifier: GPL-2.0
// The tolerance of the peak, computed with integers, equals the result in double precision to the last bit.

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "model/tolerance.h"

/* Returns @per_cent per cent of @total, computed as Massif does, with doubles. */
static uint64_t in_doubles(uint64_t total, double per_cent)
{
	volatile double excess = (double)total * per_cent / 100;

	return excess < 0 ? (uint64_t)(int64_t)excess : (uint64_t)excess;
}

static uint64_t random_word(void)
{
	return (uint64_t)(uint32_t)mrand48() << 32 | (uint32_t)mrand48();
}

/* Returns a percentage: either a typical one, one of any size, or one with arbitrary bits. */
static double random_per_cent(void)
{
	double number;
	uint64_t bits;

	switch (lrand48() % 6) {
	case 0:
		return (double)(lrand48() % 101);
	case 1:
		return drand48() * 10;
	case 2:
		return (double)(lrand48() % 20000 - 10000) / 100;
	case 3:
		return ldexp(drand48() - 0.5, (int)(lrand48() % 200) - 100);
	case 4:
		bits = random_word();
		memcpy(&number, &bits, sizeof(number));
		return isfinite(number) ? number : 0;
	default:
		return 1;
	}
}

TEST(as_in_doubles)
{
	srand48(1);
	for (int i = 0; i < 5000000; i++) {
		uint64_t total = random_word() >> (lrand48() % 64);
		double per_cent = random_per_cent();

		ASSERT_EQ(in_doubles(total, per_cent), mf_tolerance_bytes(total, &per_cent)) {
			TH_LOG("%lu bytes, %a per cent", total, per_cent);
		}
	}
}

TEST(at_the_limits)
{
	static const uint64_t totals[] = { 0, 1, 99, 100, 101, 1ull << 52, (1ull << 53) - 1, 1ull << 53,
					   (1ull << 53) + 1, (1ull << 54) + 2, (1ull << 63) - 1,
					   1ull << 63, UINT64_MAX - 1, UINT64_MAX };
	static const double numbers[] = { 0, -0.0, 1, -1, 100, -100, 99.99999999999999, 0.1, 1e20, -1e20,
					  50, 200, DBL_MIN, DBL_MIN / 8, DBL_MAX, -DBL_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(totals); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(numbers); k++) {
			EXPECT_EQ(in_doubles(totals[i], numbers[k]),
				  mf_tolerance_bytes(totals[i], &numbers[k])) {
				TH_LOG("%lu bytes, %a per cent", totals[i], numbers[k]);
			}
		}
	}
}

TEST(negative)
{
	static const double numbers[] = { 0, -0.0, 1, -1, DBL_MIN, -DBL_MIN, -1e300 };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		EXPECT_EQ(numbers[i] < 0, mf_tolerance_is_negative(&numbers[i]));
}

/* The tolerance computed by mf_tolerance_bytes() does not depend on the program's floating-point rounding mode. */
TEST(in_each_rounding_mode)
{
	static const int modes[] = { FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
	double per_cent = 1.1;
	uint64_t expected = mf_tolerance_bytes(123456789012345, &per_cent);

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		fesetround(modes[i]);
		EXPECT_EQ(expected, mf_tolerance_bytes(123456789012345, &per_cent));
		fesetround(FE_TONEAREST);
	}
}

TEST_HARNESS_MAIN
