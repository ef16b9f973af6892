/* SPDX-License-Identifier: GPL-2.0 */
/* A stream that checks output and keeps nothing of it. */
#ifndef MASSIF_SELFTESTS_SINK_H
#define MASSIF_SELFTESTS_SINK_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "selftests/fuzz/fuzz.h"

/* Further output is refused: a few stacks can have gigabytes of text. */
#define FUZZ_SINK_MOST (1u << 18)

/* For functions that look at each byte: libFuzzer need not know what they compare, which would take half of the time. */
#define FUZZ_NO_COVERAGE __attribute__((no_sanitize("coverage")))

/* Zero-initialise it, but for what is to be checked. */
struct fuzz_sink {
	bool is_text; /* the output must not have control characters */
	bool is_json; /* strings must end and have valid escapes, and brackets must match */
	size_t size;
	bool is_full;
	uint64_t number, sum; /* the number at the end of the current line, and those of all lines before */
	char brackets[64]; /* those of JSON that are open */
	size_t depth;
	bool in_string, is_escaped;
};

FUZZ_NO_COVERAGE static inline void fuzz_sink_take_json(struct fuzz_sink *sink, char c)
{
	if (sink->is_escaped) {
		fuzz_require(strchr("\"\\/bfnrtu", c) && c);
		sink->is_escaped = false;
	} else if (sink->in_string) {
		sink->is_escaped = c == '\\';
		sink->in_string = c != '"';
		fuzz_require((unsigned char)c >= ' ');
	} else if (c == '"') {
		sink->in_string = true;
	} else if (c == '{' || c == '[') {
		fuzz_require(sink->depth < sizeof(sink->brackets));
		sink->brackets[sink->depth++] = c == '{' ? '}' : ']';
	} else if (c == '}' || c == ']') {
		fuzz_require(sink->depth && sink->brackets[--sink->depth] == c);
	} else {
		fuzz_require(c && strchr(" \n:,+-.0123456789eEtruefalsn", c));
	}
}

FUZZ_NO_COVERAGE static inline ssize_t fuzz_sink_take(void *cookie, const char *bytes, size_t size)
{
	struct fuzz_sink *sink = cookie;

	if (sink->is_full || sink->size + size > FUZZ_SINK_MOST) {
		sink->is_full = true;
		errno = ENOSPC;
		return 0;
	}
	sink->size += size;
	for (size_t i = 0; i < size; i++) {
		fuzz_require(!sink->is_text || bytes[i] == '\n' || ((unsigned char)bytes[i] >= ' ' && bytes[i] != 0x7f));
		if (sink->is_json)
			fuzz_sink_take_json(sink, bytes[i]);
		if (bytes[i] == '\n')
			sink->sum += sink->number;
		sink->number = bytes[i] >= '0' && bytes[i] <= '9' ? 10 * sink->number + (uint64_t)(bytes[i] - '0') : 0;
	}
	return (ssize_t)size;
}

static inline FILE *fuzz_sink_open(struct fuzz_sink *sink)
{
	FILE *out = fopencookie(sink, "w", (cookie_io_functions_t){ .write = fuzz_sink_take });

	if (!out)
		abort();
	return out;
}

/* Closes the stream and, unless output was refused, checks that JSON is complete. */
static inline void fuzz_sink_close(struct fuzz_sink *sink, FILE *out)
{
	fclose(out);
	fuzz_require(!sink->is_json || sink->is_full || (!sink->depth && !sink->in_string));
}

#endif
