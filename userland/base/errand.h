/* SPDX-License-Identifier: GPL-2.0 */
/* Processes a possibly hostile file in an unprivileged child process (confine.h). */
#ifndef MASSIF_BASE_ERRAND_H
#define MASSIF_BASE_ERRAND_H

#include <stddef.h>
#include <stdint.h>

struct mf_errand {
	/* Runs in the child: reads @file and returns a result of *@size bytes, or NULL. */
	void *(*run)(void *data, int file, size_t *size);
	void *data;
	int file; /* descriptor of the file to read; it belongs to the caller */
	size_t bytes_max; /* maximum size of the result in bytes */
	unsigned int patience_ms; /* time limit, after which the child is killed */
};

/*
 * Runs @errand. Returns the size of *@result, which the caller frees and must not trust. Returns -errno on failure:
 * -EFBIG if the result was too large, -ETIME if it took too long, -ENODATA if the child produced no result or crashed.
 */
int64_t mf_errand_run(const struct mf_errand *errand, uint8_t **result);

#endif
