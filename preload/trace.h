/* SPDX-License-Identifier: GPL-2.0 */
/* Lines that tell of each call of an allocation function, for --trace-malloc. */
#ifndef MASSIF_PRELOAD_TRACE_H
#define MASSIF_PRELOAD_TRACE_H

#include <stdbool.h>

/* Whether they are wanted in this program; not changed after the session has begun. */
extern bool mf_trace_wanted;

/* Begins to write to descriptor @fd, which must not be one that the program knows of; 0: does not. */
void mf_trace_start(int fd);

/*
 * Writes a line of @format, in which %u stands for a size_t and %p for an address. Allocates
 * nothing, keeps errno. Not after a fork: the child is not profiled.
 */
void mf_trace_line(const char *format, ...);

#define MF_TRACE(...)                                        \
	do {                                                 \
		if (__builtin_expect(mf_trace_wanted, 0))    \
			mf_trace_line(__VA_ARGS__);          \
	} while (0)

#endif
