/* SPDX-License-Identifier: GPL-2.0 */
/* Reports each call of an allocation function: as a line for --trace-malloc, and by name for the filter log. */
#ifndef MASSIF_PRELOAD_TRACE_H
#define MASSIF_PRELOAD_TRACE_H

#include "core/session.h"

/*
 * Starts reporting calls of allocation functions. If the session's header has a descriptor for trace lines, a line is
 * written for each call. If the session logs which stacks were filtered, the name of the function that a thread called
 * last is recorded in the thread's state. Sets mf_session_traces if at least one of these applies.
 */
void mf_trace_start(void);

/*
 * Writes a trace line. @format must be a string constant that begins with the symbol of the called function (memalign
 * also stands for similar functions); it may contain %u for a size_t and %p for an address. Allocates nothing and
 * preserves errno. Does nothing in a process that is not profiled.
 */
void mf_trace_line(const char *format, ...);

#define MF_TRACE(...)                                        \
	do {                                                 \
		if (__builtin_expect(mf_session_traces, 0))    \
			mf_trace_line(__VA_ARGS__);          \
	} while (0)

#endif
