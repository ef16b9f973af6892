// SPDX-License-Identifier: GPL-2.0
// Buffered output to a file or to memory, and the formats of the report.

#include "output.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "failure.h"

void mf_output_init(struct mf_output *out, int fd)
{
	out->fd = fd;
	out->error = 0;
	out->memory = (struct mf_text){};
	out->limit = 0;
	out->len = 0;
}

void mf_output_init_memory(struct mf_output *out, size_t limit)
{
	mf_output_init(out, -1);
	out->limit = limit;
}

void mf_output_deinit(struct mf_output *out)
{
	mf_text_deinit(&out->memory);
	out->len = 0;
}

/*
 * Adds a write to the memory, even if the write exceeds out->limit, because its beginning may belong to a snapshot that
 * still fits within the limit.
 */
static void keep(struct mf_output *out, const char *data, size_t len)
{
	if (out->error)
		return;
	mf_text_append(&out->memory, data, len);
	if (out->memory.len > out->limit)
		out->error = EFBIG;
}

static void write_out(struct mf_output *out, const char *data, size_t len)
{
	ssize_t done;

	if (out->fd < 0) {
		keep(out, data, len);
		return;
	}
	while (len && !out->error) {
		done = write(out->fd, data, len);
		if (done >= 0) {
			data += done;
			len -= done;
		} else if (errno != EINTR) {
			out->error = errno;
		}
	}
}

int mf_output_flush(struct mf_output *out, struct mf_failure *failure)
{
	write_out(out, out->data, out->len);
	out->len = 0;
	if (!out->error)
		return 0;
	return mf_failure_set(failure, MF_FAILURE_WRITE, "ms_print: cannot write to standard output: %s\n",
			      strerror(out->error));
}

size_t mf_output_tell(const struct mf_output *out)
{
	return out->memory.len + out->len;
}

void mf_output_truncate(struct mf_output *out, size_t len)
{
	out->error = 0;
	if (len >= out->memory.len) {
		out->len = len - out->memory.len;
	} else {
		out->memory.len = len;
		out->len = 0;
	}
}

void mf_output_copy(struct mf_output *out, const struct mf_output *memory)
{
	mf_output_bytes(out, memory->memory.data, memory->memory.len);
	mf_output_bytes(out, memory->data, memory->len);
}

void mf_output_more_bytes(struct mf_output *out, const void *bytes, size_t len)
{
	write_out(out, out->data, out->len);
	out->len = 0;
	if (len > sizeof(out->data))
		write_out(out, bytes, len);
	else
		mf_output_bytes(out, bytes, len);
}

void mf_output_string(struct mf_output *out, const char *string)
{
	mf_output_bytes(out, string, strlen(string));
}

void mf_output_repeat(struct mf_output *out, char c, size_t count)
{
	while (count--)
		mf_output_bytes(out, &c, 1);
}

void mf_output_right(struct mf_output *out, const char *text, size_t len, size_t width)
{
	if (len < width)
		mf_output_repeat(out, ' ', width - len);
	mf_output_bytes(out, text, len);
}

void mf_output_commas(struct mf_output *out, const char *text, size_t len, size_t width)
{
	size_t digits = 0;
	size_t commas;
	size_t group;

	while (digits < len && text[digits] >= '0' && text[digits] <= '9')
		digits++;
	commas = digits ? (digits - 1) / 3 : 0;
	if (len + commas < width)
		mf_output_repeat(out, ' ', width - len - commas);
	for (group = digits - 3 * commas; commas; commas--, group = 3) {
		mf_output_bytes(out, text, group);
		mf_output_bytes(out, ",", 1);
		text += group;
		len -= group;
	}
	mf_output_bytes(out, text, len);
}

enum { FRACTION_BITS = 52, EXPONENT_BIAS = 1023 };

/*
 * Returns @value, which is in [0, 2^9), in hundredths. Rounds the exact binary value to nearest, ties to even, as
 * printf() does. Every line of every tree contains a percentage, and printf() would take longer than everything else
 * done for the line.
 */
static unsigned int hundredths(double value)
{
	uint64_t mantissa;
	uint64_t scaled;
	uint64_t whole;
	uint64_t rest;
	uint64_t half;
	uint64_t bits;
	int shift;

	/* value = mantissa / 2^shift; wrong for subnormal values, which are too small to matter */
	memcpy(&bits, &value, sizeof(bits));
	mantissa = (bits & ((UINT64_C(1) << FRACTION_BITS) - 1)) | UINT64_C(1) << FRACTION_BITS;
	shift = FRACTION_BITS + EXPONENT_BIAS - (int)(bits >> FRACTION_BITS);
	scaled = mantissa * 100;	/* below 2^60 */
	if (shift > 61)
		return 0;
	whole = scaled >> shift;
	half = UINT64_C(1) << (shift - 1);	/* shift is at least 44, because the value is below 2^9 */
	rest = scaled & (2 * half - 1);
	return whole + (rest > half || (rest == half && whole % 2));
}

void mf_output_percent(struct mf_output *out, double value)
{
	char text[400];		/* 309 digits, the decimal point, two decimals */
	unsigned int parts;
	int len;

	if (value >= 0 && value < 100) {
		parts = hundredths(value);
		text[0] = '0' + parts / 1000 % 10;
		text[1] = '0' + parts / 100 % 10;
		text[2] = '.';
		text[3] = '0' + parts / 10 % 10;
		text[4] = '0' + parts % 10;
		/* 99.995 and above are rounded to 100.00, which has one more digit. */
		if (parts < 10000) {
			mf_output_bytes(out, text, 5);
			return;
		}
	}
	len = snprintf(text, sizeof(text), "%05.2f", value);
	mf_output_bytes(out, text, len);
}

void mf_output_rule(struct mf_output *out)
{
	mf_output_repeat(out, '-', 80);
	mf_output_bytes(out, "\n", 1);
}
