/* SPDX-License-Identifier: GPL-2.0 */
/* Building blocks of hostile programs: unusual arguments, floating point, code without unwind rules. */
#ifndef MASSIF_SELFTESTS_CALLS_H
#define MASSIF_SELFTESTS_CALLS_H

#include <alloca.h>
#include <fenv.h>
#include <setjmp.h>
#include <sys/mman.h>

#include "state.h"

UNUSED static uint64_t piece_churn(unsigned int p)
{
	return churn(p, 200 + p % 500);
}

UNUSED static uint64_t piece_odd_sizes(unsigned int p)
{
	static const size_t sizes[] = { 0, 1, SIZE_MAX, SIZE_MAX / 2, SIZE_MAX - 4096, PTRDIFF_MAX, 1ul << 47 };
	static const size_t alignments[] = { 0, 1, 3, 8, 24, 32, 4096, 1ul << 20, SIZE_MAX, 1ul << 62 };
	uint64_t sum = p;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		void *volatile block;
		volatile size_t size = sizes[i];

		errno = 0;
		block = malloc(size);
		sum = mix(sum, (uint64_t)(block != NULL) << 32 | (unsigned int)errno);
		free(block);
		errno = 0;
		block = calloc(size, 3);
		sum = mix(sum, (uint64_t)(block != NULL) << 32 | (unsigned int)errno);
		free(block);
		errno = 0;
		block = realloc(malloc(10), size);
		sum = mix(sum, (uint64_t)(block != NULL) << 32 | (unsigned int)errno);
		/* If realloc() fails, the old block is leaked. */
		if (block)
			free(block);
		errno = 0;
		block = reallocarray(NULL, size, 2);
		sum = mix(sum, (uint64_t)(block != NULL) << 32 | (unsigned int)errno);
		free(block);
	}
	for (size_t i = 0; i < sizeof(alignments) / sizeof(alignments[0]); i++) {
		void *block = NULL;
		volatile size_t alignment = alignments[i];
		int error;

		errno = 77;
		error = posix_memalign(&block, alignment, 100);
		sum = mix(sum, (uint64_t)error << 32 | (unsigned int)errno);
		if (!error)
			free(block);
		errno = 0;
		block = aligned_alloc(alignment, 100);
		sum = mix(sum, (uint64_t)(block != NULL) << 32 | (unsigned int)errno);
		free(block);
		errno = 0;
		block = memalign(alignment, 0);
		sum = mix(sum, (uint64_t)(block != NULL) << 32 | (unsigned int)errno);
		free(block);
	}
	free(valloc(100));
	free(pvalloc(100));
	return sum;
}

UNUSED static uint64_t piece_usable(unsigned int p)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < 100; i++) {
		size_t size = i * (p % 50 + 1), least = size <= 24 ? 24 : ((size + 23) & ~(size_t)15) - 8;
		void *volatile block = malloc(size);
		size_t usable = malloc_usable_size(block);

		/*
		 * glibc does not split a free chunk that is 16 bytes too large. Whether it has one depends on when
		 * threads started, so that two runs without massif can differ.
		 */
		sum = mix(sum, usable == least + 16 ? least : usable);
		memset(block, 1, usable);
		free(block);
	}
	malloc_trim(0);
	return sum;
}

/* Calls the allocator while the compiler keeps values of several types in registers across the calls. */
UNUSED NOINLINE static uint64_t keep_across(uint64_t a, uint64_t b, uint64_t c, uint64_t d, double x, double y)
{
	void *volatile block = malloc(a % 100);
	double z = x * 3 + y;
	void *volatile other = calloc(b % 10 + 1, 7);

	z += (double)(a ^ b ^ c ^ d);
	block = realloc(block, c % 3000 + 1);
	free(other);
	z = z * 0.5 + x;
	free(block);
	return (uint64_t)(z * 16) + a * 3 + b * 5 + c * 7 + d;
}

UNUSED static uint64_t piece_across(unsigned int p)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < 300; i++)
		sum = mix(sum, keep_across(i + p, i * 3, i * 5, i * 7, i * .25, i * .5));
	return sum;
}

/* Sets floating-point modes for the rest of the program. The bits of @p select which. */
UNUSED static uint64_t piece_fp_mode(unsigned int p)
{
	uint32_t mxcsr;
	uint16_t control;

	feclearexcept(FE_ALL_EXCEPT);
	if (p & 1)
		fesetround(p & 2 ? FE_UPWARD : FE_TOWARDZERO);
	__asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
	__asm__ volatile("fnstcw %0" : "=m"(control));
	if (p & 4)
		mxcsr |= 0x8040; /* flush denormal results to zero, treat denormal operands as zero */
	if (p & 8) {
		mxcsr &= ~0x1f80u; /* all exceptions trap */
		control &= (uint16_t)~0x3f;
	}
	if (p & 16)
		control &= (uint16_t)~0x300; /* x87 computes in single precision */
	__asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
	__asm__ volatile("fldcw %0" : : "m"(control));
	return churn(p, 300);
}

UNUSED static uint64_t piece_fp_values(unsigned int p)
{
	volatile double x = 1.0 / ((p & 15) + 3);
	volatile long double y = 1.0l / ((p & 7) + 5);
	uint64_t sum = 0;

	for (unsigned int i = 0; i < 200; i++) {
		void *volatile block = malloc(i);

		x = x * 1.01 + 0.001;
		y = y * 1.01l + 0.001l;
		free(block);
	}
	sum = mix(sum, (uint64_t)(x * 1e9));
	return mix(sum, (uint64_t)(y * 1e9l));
}

/* Recurses up to thousands of levels deep, with frames of different sizes. */
UNUSED NOINLINE static uint64_t dive(unsigned int depth, unsigned int p)
{
	volatile char *pad = (volatile char *)alloca(16 + (p * depth) % 512);

	pad[0] = (char)depth;
	if (!depth)
		return churn(p, 50);
	if (depth % 7 == 0)
		free(malloc(depth));
	return dive(depth - 1, p) + (uint64_t)pad[0];
}

UNUSED static uint64_t piece_deep(unsigned int p)
{
	return dive(p % 4000, p) + dive(p % 30, p + 1);
}

static jmp_buf out;

UNUSED NOINLINE static void jump_out(unsigned int depth)
{
	free(malloc(depth + 1));
	if (!depth)
		longjmp(out, 1);
	jump_out(depth - 1);
}

UNUSED static uint64_t piece_longjmp(unsigned int p)
{
	volatile uint64_t sum = 0;

	for (volatile unsigned int i = 0; i < 50; i++) {
		if (!setjmp(out))
			jump_out((p + i) % 40);
		sum = mix(sum, churn(i, 5));
	}
	return sum;
}

/* Allocates in code generated at run time, which has no unwind rules and sets rbp to all kinds of values. */
UNUSED static uint64_t piece_made_code(unsigned int p)
{
	/* push rbp; mov rbp, imm64; push rbp; push rbp; mov rax, imm64; call rax; pop rcx; pop rcx; pop rbp; ret */
	static const unsigned char code[] = { 0x55, 0x48, 0xbd, 0, 0, 0, 0, 0,	  0,	0,    0,    0x55, 0x55, 0x48, 0xb8,
					      0,    0,	  0,	0, 0, 0, 0, 0, 0xff, 0xd0, 0x59, 0x59, 0x5d, 0xc3 };
	unsigned char *page = (unsigned char *)mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
						    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t bases[] = { 0, 8, (uint64_t)-1, 0x7fffffffff00, (uint64_t)page, (uint64_t)&bases, 0xdeadbeefdeadbeef };
	uint64_t target = (uint64_t)malloc, sum = 0;

	if ((void *)page == MAP_FAILED)
		return 1;
	for (unsigned int i = 0; i < 70; i++) {
		uint64_t base = bases[(i + p) % 7];
		void *block;

		memcpy(page, code, sizeof(code));
		memcpy(page + 3, &base, 8);
		memcpy(page + 15, &target, 8);
		block = checked((void *)page, i * 10 + 1, 0, 0);
		fill(block, i * 10 + 1, i);
		sum = mix(sum, sum_of(block, i * 10 + 1));
		free(block);
	}
	munmap(page, 4096);
	return sum;
}

UNUSED static uint64_t piece_stdio(unsigned int p)
{
	char *text = NULL, *line = NULL;
	size_t size = 0, room = 0;
	FILE *file = open_memstream(&text, &size);
	uint64_t sum;

	for (unsigned int i = 0; i < 1000; i++)
		fprintf(file, "%u %s %.3f\n", i * p, "text", i / 7.0);
	fclose(file);
	sum = sum_of(text, size);
	free(text);
	file = fopen("/proc/self/cmdline", "r");
	while (file && getdelim(&line, &room, 0, file) > 0)
		sum = mix(sum, room > 0);
	if (file)
		fclose(file);
	free(line);
	if (asprintf(&text, "%*d", 5000 + (int)(p % 1000), 7) > 0) {
		sum = mix(sum, strlen(text));
		free(text);
	}
	return sum;
}

#endif
