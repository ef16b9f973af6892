/* SPDX-License-Identifier: GPL-2.0 */
/* What is told of each call of an allocation function: a line, for --trace-malloc; its name. */
#ifndef MASSIF_PRELOAD_TRACE_H
#define MASSIF_PRELOAD_TRACE_H

#include <stdbool.h>

#include "core/session.h"

/* Whether anything is wanted in this program; not changed after the session has begun. */
extern bool mf_trace_wanted MF_HIDDEN;

/*
 * Begins to write to descriptor @fd, which must not be one that the program knows of; 0: does not.
 * With @names the thread's state has the name of the function called last, too.
 */
void mf_trace_start(int fd, bool names);

/*
 * Writes a line of @format, a constant that begins with the function's symbol, in which %u stands
 * for a size_t and %p for an address. Allocates nothing, keeps errno. Not after a fork: the child is
 * not profiled.
 */
void mf_trace_line(const char *format, ...);

#define MF_TRACE(...)                                        \
	do {                                                 \
		if (__builtin_expect(mf_trace_wanted, 0))    \
			mf_trace_line(__VA_ARGS__);          \
	} while (0)

#endif
