/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Looks up the names of the contexts of a running profile, in a thread of its own, since reading the debug information of
 * a large program takes seconds.
 */
#ifndef MASSIF_CTL_NAMER_H
#define MASSIF_CTL_NAMER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/error.h"
#include "model/store.h"

/* How contexts are put together. */
enum mf_live_by {
	MF_LIVE_BY_SITE,
	MF_LIVE_BY_FUNCTION,
	MF_LIVE_BYS,
};

/* A label has at most this many bytes; the end of a longer one is left out. */
#define MF_LIVE_LABEL_MAX 1024u

/* Ends the label in @text: cuts it, and replaces control characters. Returns it, or NULL if out of memory. */
char *mf_live_label_finish(struct mf_bytes *text);

/*
 * The labels of contexts @first to @end - 1, without control characters: those of context @i are labels[..][i - first].
 * NULL is the label of a context that is ignored (--ignore-fn).
 */
struct mf_live_batch {
	uint32_t first, end;
	char **labels[MF_LIVE_BYS];
};

struct mf_live_namer;

/*
 * Creates a namer for the session in @store, which must outlive it, of process @pid (0 if it cannot be reached), whose
 * @pidfd must outlive it, too. It takes the options about functions (--alloc-fn and the like) from the session. Returns 0
 * or -errno.
 */
int mf_live_namer_create(const struct mf_store *store, pid_t pid, int pidfd, bool pages,
			 struct mf_live_namer **namer, struct mf_error *err);

/* Waits for the thread. */
void mf_live_namer_destroy(struct mf_live_namer *namer); /* @namer may be NULL */

/* Returns a descriptor that is readable when a batch is complete. */
int mf_live_namer_fd(const struct mf_live_namer *namer);

/*
 * Starts to look up the contexts that were not looked up yet, up to @end - 1. Does nothing if the last batch is not
 * complete, or if there has not been enough time since then: looking up names takes a hundredth of the time at most.
 */
void mf_live_namer_start(struct mf_live_namer *namer, uint32_t end);

/* Makes mf_live_namer_start() not wait since the last batch. */
void mf_live_namer_hurry(struct mf_live_namer *namer);

/* Waits until the batch is complete. */
void mf_live_namer_wait(struct mf_live_namer *namer);

/* Returns the complete batch, or NULL if there is none. It is valid until the next call of any of these functions. */
const struct mf_live_batch *mf_live_namer_take(struct mf_live_namer *namer);

#endif
