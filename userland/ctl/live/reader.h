/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads the session memory of a program that is running. The program is not stopped and does not notice, so what is read
 * is from slightly different points in time: every number has been true at some moment, but their sum can differ from the
 * total by what has changed meanwhile.
 */
#ifndef MASSIF_CTL_READER_H
#define MASSIF_CTL_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "model/store.h"
#include "profile/residency.h"

/* What a context, or a site, has. All but @bytes are since the start of the program. */
struct mf_live_counts {
	uint64_t bytes;	      /* live bytes */
	uint64_t allocations; /* blocks that it has allocated */
	uint64_t allocated;   /* their bytes */
};

struct mf_live_totals {
	uint64_t heap, extra, stacks;
	uint64_t total; /* the sum of these */
	uint64_t peak;	/* the highest total that is known */
	int64_t age_ms; /* how long the process has been profiled */
	struct mf_live_counts counts; /* sum of all contexts */
	uint64_t resident; /* the resident set in its last sample (--rss); 0: there is none */
	uint64_t resident_most; /* its largest part, and which it is */
	enum mf_band resident_band;
};

struct mf_live_session {
	struct mf_store store;
	int memory;	   /* descriptor of the session memory; owned */
	uint64_t inode;	   /* identifies it */
	uint64_t start_ns; /* CLOCK_MONOTONIC time at which the profile started; 0: the header says it */
	bool pages;
	uint64_t peak;	   /* the highest total that was read so far */
	int64_t end_ms;	   /* the age at the end of the process; 0 if it has not ended */
	/* what mf_live_session_read() has read: the counts of contexts 0 to n_contexts - 1 */
	struct mf_live_counts *contexts;
	uint32_t n_contexts, room;
	struct mf_live_totals totals;
};

/* Identifies the memory behind the descriptor @memory, to tell whether it is still the same. */
uint64_t mf_live_session_inode(int memory);

/* Maps the session memory @memory, and takes ownership of the descriptor, also on failure. Returns 0 or -errno. */
int mf_live_session_open(struct mf_live_session *session, int memory, uint64_t start_ns, bool pages,
			 struct mf_error *err);
void mf_live_session_close(struct mf_live_session *session); /* also accepts one that is all zero */

/* Reads the totals and the counts of all contexts. Returns 0 or -ENOMEM. */
int mf_live_session_read(struct mf_live_session *session, struct mf_error *err);

/* Returns how long the process has been profiled. */
int64_t mf_live_session_age_ms(const struct mf_live_session *session);

/* Returns CLOCK_MONOTONIC in milliseconds. */
int64_t mf_live_now_ms(void);

#endif
