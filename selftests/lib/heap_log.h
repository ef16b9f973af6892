/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A log of all allocator calls made by a program under libheap_log.so (selftests/targets), as the allocator itself sees
 * them. That library is loaded below the shim, which calls it.
 */
#ifndef MASSIF_SELFTESTS_HEAP_LOG_H
#define MASSIF_SELFTESTS_HEAP_LOG_H

#include <stdint.h>

/* The descriptor of the log's memory, and the size of that memory. */
#define HEAP_LOG_FD    90
#define HEAP_LOG_BYTES (256u << 20)

#define HEAP_LOG_SITES	 17  /* number of sites; site 0: not one of the program's own */
#define HEAP_LOG_THREADS 1024
#define HEAP_LOG_SPAN	 256 /* maximum code size of a site in bytes */

enum heap_log_what {
	HEAP_LOG_NOTHING, /* a record that is not written yet */
	HEAP_LOG_SITE,	  /* the code of @site is at @address */
	HEAP_LOG_ALLOC,	  /* @size bytes were allocated at @address; logged afterwards */
	HEAP_LOG_FREE,	  /* logged before the free */
	HEAP_LOG_REALLOC, /* realloc of @address begins; logged before it */
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
