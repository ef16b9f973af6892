/* SPDX-License-Identifier: GPL-2.0 */
/* Loads the shim into a running process, and makes it count and stop counting. */
#ifndef MASSIF_CTL_INJECTION_H
#define MASSIF_CTL_INJECTION_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "protocol/late.h"

struct mf_injection {
	pid_t pid;
	uint64_t late; /* address of the shim's struct mf_late */
	struct mf_late answer;
	struct mf_late_word *words; /* answer.n_words of them */
};

/*
 * Loads the shim in the file @shim into process @pid, which @pidfd refers to, and begins to count. Calls @create with a
 * descriptor of an empty memfd, which becomes the session memory and belongs to @create if it returns 0. If
 * this fails, the process continues as if nothing had happened, and -errno is returned.
 */
int mf_injection_begin(struct mf_injection *injection, pid_t pid, int pidfd, const char *shim,
		       int (*create)(void *data, int memory, struct mf_error *err), void *data, struct mf_error *err);

/*
 * Ends the counting: all words that the attach has changed, and that still have its value, get their old value. Returns 0
 * or -errno; the shim stays loaded in either case. @injection is released.
 */
int mf_injection_end(struct mf_injection *injection, struct mf_error *err);

#endif
