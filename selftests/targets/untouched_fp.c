// SPDX-License-Identifier: GPL-2.0
// Compares the floating-point state before and after each call to the allocator, with all exception flags clear and
// all exceptions unmasked, in every rounding mode, with and without denormals.

#include <fenv.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xmmintrin.h>

#define FLUSH_TO_ZERO	   0x8000u
#define DENORMALS_ARE_ZERO 0x0040u

static unsigned int changes;

/* The state that fegetenv() would return, read without fegetenv()'s side effects. */
struct state {
	uint32_t mxcsr;
	uint16_t control, status;
};

static struct state look(void)
{
	struct state state = { .mxcsr = _mm_getcsr() };

	__asm__ volatile("fnstcw %0\n\tfnstsw %1" : "=m"(state.control), "=m"(state.status));
	return state;
}

static void compare(const struct state *before, const char *call, size_t size)
{
	struct state after = look();

	if (!memcmp(&after, before, sizeof(after)))
		return;
	if (changes++ < 5)
		fprintf(stderr, "%s(%zu): mxcsr %x, was %x; x87 %x %x, was %x %x\n", call, size,
			after.mxcsr, before->mxcsr, after.control, after.status, before->control,
			before->status);
}

/*
 * The sizes grow from call to call, so that there are new peaks. The totals are not multiples of 100, so 1 % of a total
 * is not a whole number.
 */
static void allocate(void)
{
	static size_t first = 1;
	struct state before = look();
	size_t size;

	for (size = first; size < first + 1000; size++) {
		void *volatile block = malloc(size);

		compare(&before, "malloc", size);
		block = realloc(block, size * 7);
		compare(&before, "realloc", size);
		block = realloc(block, size);
		compare(&before, "realloc", size);
		free(block);
		compare(&before, "free", size);
		free(calloc(size, 3));
		compare(&before, "calloc", size);
	}
	first = size;
}

int main(void)
{
	static const int modes[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		fesetround(modes[i]);
		for (int flush = 0; flush < 2; flush++) {
			fedisableexcept(FE_ALL_EXCEPT);
			feclearexcept(FE_ALL_EXCEPT);
			_mm_setcsr(_mm_getcsr() ^ (FLUSH_TO_ZERO | DENORMALS_ARE_ZERO));
			allocate();
			feenableexcept(FE_ALL_EXCEPT);
			allocate();
		}
	}
	printf("%u changes\n", changes);
	return 0;
}
