/* SPDX-License-Identifier: GPL-2.0 */
/* Valid sessions with a bit of everything, as if programs had filled them: what the fuzzers damage. */
#ifndef MASSIF_SELFTESTS_SESSION_H
#define MASSIF_SELFTESTS_SESSION_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/store.h"

/* The options with which a session is recorded, as bits. There is one session for each combination. */
enum {
	FUZZ_SESSION_DETAILS = 1,  /* --record-detail=full */
	FUZZ_SESSION_THREADS = 2,  /* --separate-threads; without it, each thread has its sums */
	FUZZ_SESSION_LEDGER = 4,   /* --xtree-memory=full */
	FUZZ_SESSION_MS = 8,	   /* the unit of time is milliseconds, and the free of a block is delayed */
	FUZZ_SESSION_STEPS = 16,   /* all events are logged */
	FUZZ_SESSION_FILES = 32,   /* the files of the objects exist */
	FUZZ_SESSION_KINDS = 64,   /* the number of combinations */
};

#define FUZZ_SESSION_HEAP 0x7f0000000000ull /* address of the lowest of the blocks that are below one another */

/* A part of a region that is in use. */
struct fuzz_part {
	uint64_t start; /* in the region, in bytes */
	uint64_t size;	/* without zeros at the end */
	uint64_t pages; /* the size with them, a multiple of a page */
	uint8_t *bytes; /* what is there, if nothing damages it */
};

struct fuzz_session {
	int memory; /* descriptor of its file */
	struct mf_store store; /* attached; between its regions, there are gaps that cannot be read */
	struct fuzz_part *parts[MF_REGION_COUNT];
	size_t n_parts[MF_REGION_COUNT];
	uint64_t used[MF_REGION_COUNT]; /* bytes of all parts of a region */
	blkcnt_t blocks; /* how much memory the file has, as in struct stat */
};

/* Returns the session of a kind, which is created when it is first asked for. */
struct fuzz_session *fuzz_session_of(unsigned int kind);

/*
 * Moves the regions of a store that was attached apart, so that reading beyond one is a fault. The store is released by
 * fuzz_session_detach().
 */
void fuzz_session_spread(struct mf_store *store);
void fuzz_session_detach(struct mf_store *store);

#endif
