/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A log of all allocator calls by a program, as the allocator itself sees them. It is written by libheap_log.so
 * (selftests/targets), which is preloaded after the shim, so that the shim calls it as the real allocator.
 */
#ifndef MASSIF_SELFTESTS_HEAP_LOG_H
#define MASSIF_SELFTESTS_HEAP_LOG_H

#include <stdint.h>

/* The descriptor of the log's memory, and the size of that memory. */
#define HEAP_LOG_FD    90
#define HEAP_LOG_BYTES (256u << 20)

#define HEAP_LOG_SITES	 17  /* number of call sites; site 0 stands for calls from outside the program's own sites */
#define HEAP_LOG_THREADS 1024
#define HEAP_LOG_SPAN	 256 /* maximum code size of a site in bytes */

enum heap_log_what {
	HEAP_LOG_NOTHING, /* the record has not been written yet */
	HEAP_LOG_SITE,	  /* the code of @site is at @address */
	HEAP_LOG_ALLOC,	  /* @size bytes at @address have been allocated */
	HEAP_LOG_FREE,	  /* the block at @address is about to be freed */
	HEAP_LOG_REALLOC, /* the block at @address is about to be reallocated */
	HEAP_LOG_MOVED,	  /* realloc has returned: @size bytes at @address */
};

struct heap_log_record {
	uint32_t what, site, thread, reserved;
	uint64_t address, size;
};

struct heap_log {
	uint64_t n; /* number of records; all threads share one sequence */
	struct heap_log_record records[];
};

#endif
