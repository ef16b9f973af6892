/* SPDX-License-Identifier: GPL-2.0 */
/* Copies whole words. */
#ifndef MASSIF_COMPAT_WORDS_H
#define MASSIF_COMPAT_WORDS_H

#include <linux/string.h>
#include <linux/types.h>

/* bytes is a multiple of 8, usually a few hundred. memcpy() would be slower, because it first chooses a copy method. */
static inline void massif_copy_words(void *to, const void *from, size_t bytes)
{
#ifdef CONFIG_X86_64
	size_t words = bytes / 8;

	asm volatile("rep movsq" : "+D" (to), "+S" (from), "+c" (words) : : "memory");
#else
	memcpy(to, from, bytes);
#endif
}

#endif
