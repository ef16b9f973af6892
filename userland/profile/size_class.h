/* SPDX-License-Identifier: GPL-2.0 */
/* A class of blocks by their size: see model/size_classes.h. */
#ifndef MASSIF_PROFILE_SIZE_CLASS_H
#define MASSIF_PROFILE_SIZE_CLASS_H

#include <stdint.h>

#define MF_SIZE_CLASSES 64u

struct mf_size_class {
	uint64_t blocks, bytes; /* blocks allocated since the start, and the sum of their sizes */
};

/* Returns the largest size in class @number. */
static inline uint64_t mf_size_class_top(uint32_t number)
{
	return 1ull << number;
}

#endif
