/* SPDX-License-Identifier: GPL-2.0 */
/* Runs a program under the shim without massif-ctl, and keeps the session's shared memory mapped for the test. */
#ifndef MASSIF_SELFTESTS_HEAP_SESSION_H
#define MASSIF_SELFTESTS_HEAP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "model/blocks.h"
#include "model/store.h"

struct heap_session {
	struct mf_store store;
	void (*prepare)(struct mf_store *store); /* called before the program runs; may be NULL */
	void (*meanwhile)(struct mf_store *store); /* called about every millisecond; may be NULL */
	const char *preload; /* library to preload after the shim; may be NULL */
	bool details; /* keep the details of what each context allocates (model/details.h) */
	uint64_t budget; /* limit on the session's address space in bytes; 0: no limit */
	int status;	 /* exit status in the format of waitpid(2) */
	uint64_t cpu_ns; /* CPU time of the program and its children */
};

/* Runs @argv, a NULL-terminated list. Returns false, with a message on stderr, if the program could not be run. */
bool heap_session_run(struct heap_session *session, const char *const *argv);
void heap_session_end(struct heap_session *session);

/* The live bytes, computed in three ways that must always agree. */
struct heap_session_sums {
	uint64_t model;	   /* the model's running total */
	uint64_t contexts; /* sum of the bytes of all contexts */
	uint64_t blocks;   /* sum of the sizes of all live blocks */
	uint64_t n_blocks;
};

struct heap_session_sums heap_session_sum(const struct heap_session *session);

/*
 * Returns the number of snapshots whose tree does not add up to their heap bytes. *@trees is set to the number of
 * snapshots with a tree.
 */
uint32_t heap_session_unequal_trees(const struct heap_session *session, uint32_t *trees);

/* Returns the number of live blocks of @size bytes. */
uint64_t heap_session_count(const struct heap_session *session, uint64_t size);

#endif
