/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a program under libheap_log.so (selftests/targets) calls of the allocator, call by call, as the
 * allocator itself sees it: below the shim, which calls it.
 */
#ifndef MASSIF_SELFTESTS_HEAP_LOG_H
#define MASSIF_SELFTESTS_HEAP_LOG_H

#include <stdint.h>

/* The descriptor of the memory where the log goes; and its size. */
#define HEAP_LOG_FD    90
#define HEAP_LOG_BYTES (256u << 20)

#define HEAP_LOG_SITES	 17  /* 0: none of the program's own */
#define HEAP_LOG_THREADS 1024
#define HEAP_LOG_SPAN	 256 /* bytes of code of a site at most */

enum heap_log_what {
	HEAP_LOG_NOTHING, /* not written yet */
	HEAP_LOG_SITE,	  /* @site has its code at @address */
	HEAP_LOG_ALLOC,	  /* @size bytes at @address; after it was done */
	HEAP_LOG_FREE,	  /* before it is done */
	HEAP_LOG_REALLOC, /* of @address begins; before it is done */
	HEAP_LOG_MOVED,	  /* and has ended: @size bytes at @address */
};

struct heap_log_record {
	uint32_t what, site, thread, reserved;
	uint64_t address, size;
};

struct heap_log {
	uint64_t n; /* records, in one order for all threads */
	struct heap_log_record records[];
};

#endif
