/* SPDX-License-Identifier: GPL-2.0 */
/* What is told of each call of an allocation function: a line, for --trace-malloc; its name. */
#ifndef MASSIF_PRELOAD_TRACE_H
#define MASSIF_PRELOAD_TRACE_H

#include "core/session.h"

/*
 * Begins to write to the descriptor that the session's header names, if it names one, and to note the name of the
 * function called last in the thread's state, if the session logs filtering. Sets mf_session_traces.
 */
void mf_trace_start(void);

/*
 * Writes a line of @format, a constant that begins with the function's symbol, in which %u stands
 * for a size_t and %p for an address. Allocates nothing, keeps errno. Not after a fork: the child is
 * not profiled.
 */
void mf_trace_line(const char *format, ...);

#define MF_TRACE(...)                                        \
	do {                                                 \
		if (__builtin_expect(mf_session_traces, 0))    \
			mf_trace_line(__VA_ARGS__);          \
	} while (0)

#endif
