/* SPDX-License-Identifier: GPL-2.0 */
/* What the shim keeps for each thread, and the gate through which every event passes. */
#ifndef MASSIF_PRELOAD_THREAD_H
#define MASSIF_PRELOAD_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#define MF_DEPTH_MAX	  256u /* frames of a stack: depth (at most 200) + 50 */
#define MF_OWN_FRAMES_MAX 16u /* of the shim, above the program's */
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
	volatile bool inside;
	volatile uint32_t n_deferred;
	struct mf_deferred deferred[MF_DEFERRED_MAX];

	/* The stack just captured: return addresses, innermost first. */
	uint64_t captured[MF_DEPTH_MAX + MF_OWN_FRAMES_MAX];

	/* The stack before it, outermost frame first, as far as its nodes are known. */
	uint64_t last_pcs[MF_DEPTH_MAX];
	uint32_t last_nodes[MF_DEPTH_MAX];
	uint32_t n_last;
	uint32_t last_generation; /* of mf_objects_generation */

	/* The objects of the frames in which the two differ. */
	uint32_t objects[MF_DEPTH_MAX];
};

/* In the static TLS block: reaching it must not allocate. */
extern __thread struct mf_thread mf_thread __attribute__((tls_model("initial-exec")));

#endif
