/* SPDX-License-Identifier: GPL-2.0 */
/* A thread of the program, in a profile whose stacks are kept apart by thread (--separate-threads). */
#ifndef MASSIF_PROFILE_THREAD_H
#define MASSIF_PROFILE_THREAD_H

#include <stdint.h>

#define MF_THREAD_NAME_SIZE 16u /* the size of a thread's name in the kernel, including the NUL */

struct mf_thread_info {
	uint64_t tid; /* thread ID; 0 if it is unknown, or if this stands for several threads */
	const char *name; /* "" if it is unknown */
};

#endif
