/* SPDX-License-Identifier: GPL-2.0 */
/* A thread of the program. */
#ifndef MASSIF_PROFILE_THREAD_H
#define MASSIF_PROFILE_THREAD_H

#include <stdint.h>

#define MF_THREAD_NAME_SIZE 16u /* the size of a thread's name in the kernel, including the NUL */

struct mf_thread_info {
	uint64_t tid; /* thread ID; 0 if it is unknown, or if this stands for several threads */
	const char *name; /* "" if it is unknown */
};

/* What a thread has allocated since its start. */
struct mf_thread_sums {
	uint64_t allocations; /* blocks, by realloc as well */
	uint64_t allocated;   /* the sum of their sizes */
	uint64_t temporaries; /* those of them that the thread freed before it allocated another */
};

struct mf_thread_total {
	struct mf_thread_info thread;
	struct mf_thread_sums sums;
};

#endif
