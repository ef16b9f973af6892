/* SPDX-License-Identifier: GPL-2.0 */
/* Runs a program under the shim and keeps the session's memory, without massif-ctl between. */
#ifndef SELFTESTS_LIB_HEAP_SESSION_H
#define SELFTESTS_LIB_HEAP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "model/blocks.h"
#include "model/store.h"

struct heap_session {
	struct mf_store store;
	void (*prepare)(struct mf_store *store); /* before the program runs; may be NULL */
	void (*meanwhile)(struct mf_store *store); /* once in a millisecond or so; may be NULL */
	const char *preload; /* below the shim; may be NULL */
	uint64_t budget; /* of the session's address space; 0: any */
	int status;	 /* as of waitpid(2) */
	uint64_t cpu_ns; /* that the program and its children used */
};

/* @argv is NULL-terminated. Returns false, with the reason on stderr, if nothing could be run. */
bool heap_session_run(struct heap_session *session, const char *const *argv);
void heap_session_end(struct heap_session *session);

/* What must agree at every moment: three ways to the same bytes. */
struct heap_session_sums {
	uint64_t model;	   /* the model's running total */
	uint64_t contexts; /* the sum over the contexts */
	uint64_t blocks;   /* the sum over the live blocks */
	uint64_t n_blocks;
};

struct heap_session_sums heap_session_sum(const struct heap_session *session);

/*
 * Of the snapshots kept that have a tree, how many have one whose leaves do not add up to the
 * snapshot's heap; *@trees is how many have one.
 */
uint32_t heap_session_unequal_trees(const struct heap_session *session, uint32_t *trees);

/* How many live blocks have a size of @size bytes. */
uint64_t heap_session_count(const struct heap_session *session, uint64_t size);

#endif
