/* SPDX-License-Identifier: GPL-2.0 */
/* Helpers for the fuzzers: read the bytes of an input, or write them to a file. */
#ifndef MASSIF_SELFTESTS_FUZZ_H
#define MASSIF_SELFTESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* libFuzzer calls this with each input. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The part of an input that has not been read yet. Reads beyond the end return zeros. */
struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

static inline void fuzz_take(struct fuzz_input *input, void *to, size_t size)
{
	size_t here = size < input->left ? size : input->left;

	memset(to, 0, size);
	if (here)
		memcpy(to, input->at, here);
	input->at += here;
	input->left -= here;
}

static inline uint8_t fuzz_u8(struct fuzz_input *input)
{
	uint8_t value;

	fuzz_take(input, &value, sizeof(value));
	return value;
}

static inline uint16_t fuzz_u16(struct fuzz_input *input)
{
	uint16_t value;

	fuzz_take(input, &value, sizeof(value));
	return value;
}

static inline uint32_t fuzz_u32(struct fuzz_input *input)
{
	uint32_t value;

	fuzz_take(input, &value, sizeof(value));
	return value;
}

static inline uint64_t fuzz_u64(struct fuzz_input *input)
{
	uint64_t value;

	fuzz_take(input, &value, sizeof(value));
	return value;
}

/* Aborts unless the code under test satisfies a condition. Unlike assert(), this also works with NDEBUG. */
#define fuzz_require(condition) ((condition) ? (void)0 : abort())

/* Creates an in-memory file that contains these bytes. Returns its descriptor, which the caller must close. */
static inline int fuzz_file(const void *bytes, size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd < 0 || (size && write(fd, bytes, size) != (ssize_t)size))
		abort();
	return fd;
}

#endif
