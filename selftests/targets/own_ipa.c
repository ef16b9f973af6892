// SPDX-License-Identifier: GPL-2.0
// An allocator that is compiled together with its callers. The compiler may therefore keep the callers' values in
// registers that the allocator does not use (-fipa-ra), and may let them call it with a misaligned stack. Prints a
// checksum and the number of blocks. own_ipa_*.c are the same program compiled with other options.

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/*
 * noclone prevents the compiler from cloning a function for a constant argument. A clone would have a different name.
 */
#define FUNCTION __attribute__((noinline, noclone))

static unsigned char arena[64 << 20] __attribute__((aligned(64)));
static size_t used;
static unsigned long given;

FUNCTION void *malloc(size_t size)
{
	unsigned char *block = arena + used;

	used += (size + 15) & ~(size_t)15;
	given++;
	return block;
}

FUNCTION void free(void *block)
{
	given -= block == NULL;
}

FUNCTION void *calloc(size_t n, size_t size)
{
	return malloc(n * size);
}

FUNCTION void *realloc(void *block, size_t size)
{
	unsigned char *fresh = malloc(size);

	for (size_t i = 0; block && i < size; i++)
		fresh[i] = ((unsigned char *)block)[i];
	return fresh;
}

FUNCTION long whole_numbers(long a, long b, long c, long d, long e, long f)
{
	long *block = malloc(100), sum;

	block[0] = a;
	sum = a * 3 + b * 5 + c * 7 + d * 11 + e * 13 + f * 17;
	block = calloc(5, 40);
	block[1] = b;
	sum += a ^ b ^ c ^ d ^ e ^ f;
	free(block);
	return sum + block[1] + a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f;
}

FUNCTION double fractions(double a, double b, double c, double d, double e, double f, double g, double h)
{
	double *block = malloc(64), sum;

	block[0] = a;
	sum = a * b + c * d;
	block = realloc(block, 80);
	free(block);
	return sum + block[0] + e * f + g * h + a + b + c + d;
}

typedef float vector __attribute__((vector_size(64)));

FUNCTION float vectors(const vector *from)
{
	vector a = from[0], b = from[1], c = from[2], d = from[3], sum = { 0 };

	for (int i = 0; i < 4; i++) {
		float *block = malloc(sizeof(vector));

		block[i] = (float)i;
		sum += a * b + c * d + block[i];
		free(block);
		a += b;
	}
	return sum[0] + sum[5] + sum[15];
}

/*
 * recursive() is called with an aligned stack, because it is not a leaf function. Only calls to leaf functions, which
 * need no alignment, may be made with an unaligned stack.
 */
FUNCTION long recursive(long depth, long a, double x)
{
	char *block = malloc(24);

	block[0] = (char)depth;
	if (depth)
		return recursive(depth - 1, a + block[0], x + 1) + (long)x;
	return a + (long)x;
}

/* libc has already allocated what it needs when this starts. Printing does not allocate. */
int main(void)
{
	static vector from[4];
	double sum = 0;
	char line[100];
	int length;

	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 16; j++)
			from[i][j] = (float)(i + j);
	for (long i = 0; i < 5000; i++) {
		sum += (double)whole_numbers(i, i + 1, i + 2, i + 3, i + 4, i + 5);
		sum += fractions((double)i, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5);
		sum += vectors(from) + (double)recursive(i % 30, i, 0.5);
	}
	length = snprintf(line, sizeof(line), "%.3f, %lu blocks\n", sum, given);
	return write(STDOUT_FILENO, line, (size_t)length) != length;
}
