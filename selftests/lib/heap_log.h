/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A log of all allocator calls by a program, as seen by the allocator. It is written by libheap_log.so
 * (selftests/targets), which is preloaded after the shim; to the shim, it is the real allocator.
 */
#ifndef MASSIF_SELFTESTS_HEAP_LOG_H
#define MASSIF_SELFTESTS_HEAP_LOG_H

#include <stdint.h>

/* The descriptor of the log's memory, and the size of that memory. */
#define HEAP_LOG_FD    90
#define HEAP_LOG_BYTES (256u << 20)

#define HEAP_LOG_SITES	 17  /* number of call sites, including site 0, which stands for all calls from elsewhere */
#define HEAP_LOG_THREADS 1024
#define HEAP_LOG_SPAN	 256 /* maximum size in bytes of the code of a call site */

enum heap_log_what {
	HEAP_LOG_NOTHING, /* unused record: nothing has been written to it yet */
	HEAP_LOG_SITE,	  /* the code of call site @site is at @address */
	HEAP_LOG_ALLOC,	  /* @size bytes at @address have been allocated */
	HEAP_LOG_FREE,	  /* the block at @address is about to be freed */
	HEAP_LOG_REALLOC, /* the block at @address is about to be reallocated */
	HEAP_LOG_MOVED,	  /* realloc has returned @address, a block of @size bytes */
};

struct heap_log_record {
	uint32_t what, site, thread, reserved;
	uint64_t address, size;
};

struct heap_log {
	uint64_t n; /* number of records in the log; the records of all threads form one sequence */
	struct heap_log_record records[];
};

#endif
