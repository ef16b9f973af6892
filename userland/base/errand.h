/* SPDX-License-Identifier: GPL-2.0 */
/* One piece of work on a hostile file, done in a child process without rights (confine.h). */
#ifndef MASSIF_BASE_ERRAND_H
#define MASSIF_BASE_ERRAND_H

#include <stddef.h>
#include <stdint.h>

struct mf_errand {
	/* Runs in the child: reads @file, and returns its result, of @size bytes, or NULL. */
	void *(*run)(void *data, int file, size_t *size);
	void *data;
	int file; /* a descriptor; the caller's */
	size_t bytes_max; /* of a result */
	unsigned int patience_ms; /* until the child is ended */
};

/*
 * Runs @errand. Returns how many bytes *@result has, which the caller frees and does not trust; or -errno: -EFBIG if
 * there were too many, -ETIME if it took too long, -ENODATA if the child had none, or crashed.
 */
int64_t mf_errand_run(const struct mf_errand *errand, uint8_t **result);

#endif
