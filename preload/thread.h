/* SPDX-License-Identifier: GPL-2.0 */
/* What the shim keeps for each thread. */
#ifndef MASSIF_PRELOAD_THREAD_H
#define MASSIF_PRELOAD_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "unwind.h"

#define MF_DEFERRED_MAX 32u

/*
 * An event that came while the same thread was already inside the shim: a signal handler interrupted
 * it there. It is accounted when the shim is left.
 */
struct mf_deferred {
	uint64_t address;
	uint64_t size;
	bool is_free;
};

struct mf_thread {
	struct mf_thread *next; /* in the list of those whose threads have ended */

	struct mf_clock clock;

	volatile uint32_t n_deferred;
	struct mf_deferred deferred[MF_DEFERRED_MAX];

	/* The stack just captured: return addresses, innermost first. */
	uint64_t captured[MF_UNWIND_ROOM];

	/* The stack before it, outermost frame first, as far as its nodes are known. */
	uint64_t last_pcs[MF_DEPTH_MAX];
	uint32_t last_nodes[MF_DEPTH_MAX];
	uint32_t n_last;
	uint32_t last_generation; /* of mf_objects_generation */

	/* The objects of the frames in which the two differ. */
	uint32_t objects[MF_DEPTH_MAX];
};

/*
 * In the static TLS block, since reaching it must not allocate; and small, since that block is a
 * part of every thread's stack, and stacks can be small.
 */
struct mf_thread_local {
	volatile bool inside; /* the thread is in the shim: its events wait */
	struct mf_thread *thread;
};

extern __thread struct mf_thread_local mf_thread_local
	__attribute__((tls_model("initial-exec")));

/* The state of this thread, made at its first call; NULL if there is no memory for it. */
struct mf_thread *mf_thread_get(void);

#endif
