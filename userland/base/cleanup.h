/* SPDX-License-Identifier: GPL-2.0 */
/* Attributes that release a local variable when it goes out of scope. */
#ifndef MASSIF_BASE_CLEANUP_H
#define MASSIF_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void mf_cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void mf_cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void mf_cleanup_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

#define mf_auto_free   __attribute__((cleanup(mf_cleanup_free)))
#define mf_auto_close  __attribute__((cleanup(mf_cleanup_close)))
#define mf_auto_fclose __attribute__((cleanup(mf_cleanup_fclose)))

/* Returns the value of @variable and sets @variable to @none, so that the variable no longer owns the value. */
#define mf_take(variable, none)                       \
	({                                            \
		__typeof__(variable) taken_ = (variable); \
		(variable) = (none);                  \
		taken_;                               \
	})

#endif
