/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory in which a profile grows: position-independent, shareable, no pointers inside.
 *
 * In heap mode it is a memfd that the preload shim (the only writer) and the aggregator (a reader)
 * both map, so that everything up to the program's last event outlives the program. In pages mode
 * and in tests it is anonymous memory of one process. The parts of a store (trie, captures, live
 * blocks, ...) have one region each; a region is a sparse range of the file whose pages come into
 * being when they are first touched, and which is used from its start upwards.
 *
 * All functions of userland/model/ are pure: they read no clock, make no system call (but for the
 * mappings made here) and allocate nothing with malloc, since they run inside malloc.
 */
#ifndef MASSIF_MODEL_STORE_H
#define MASSIF_MODEL_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define MF_STORE_MAGIC	 0x31736d6669737361ull
#define MF_STORE_VERSION 19

#define MF_STORE_PATH_MAX 512u

enum mf_region_id {
	MF_REGION_HEADER,	  /* struct mf_store_header */
	MF_REGION_MODEL,	  /* struct mf_model */
	MF_REGION_NODES,	  /* struct mf_node[] */
	MF_REGION_NODE_HASH,	  /* uint32_t[], see trie.c */
	MF_REGION_CONTEXT_BYTES,  /* struct mf_cell[][]: live bytes of each context, see trie.h */
	MF_REGION_CONTEXT_NODES,  /* uint32_t[]: innermost node of each context */
	MF_REGION_CAPTURES,	  /* struct mf_chunk[], see capture.h */
	MF_REGION_BLOCK_DIRECTORY, /* uint32_t[], see blocks.c */
	MF_REGION_BLOCK_LEAVES,	  /* uint64_t[][], see blocks.c */
	MF_REGION_WIDE_BLOCKS,	  /* struct mf_wide_block[], see blocks.c */
	MF_REGION_OBJECTS,	  /* struct mf_object_record[], see objects.h */
	MF_REGION_STRINGS,	  /* their paths */
	MF_REGION_STEPS,	  /* struct mf_step[], see log.h */
	MF_REGION_TALLIES,	  /* struct mf_tally[], see tally.h */
	MF_REGION_LEDGER,	  /* struct mf_ledger_entry[], see ledger.h */
	MF_REGION_LEDGER_NUMBERS, /* uint32_t[]: the entry of each node's stack */
	MF_REGION_NEW_RULES,	  /* uint64_t[]: object << 32 | address whose rule was looked for; or the next */
	MF_REGION_ORIGIN,	  /* how the profile came about, see ctl/heap/origin.h */
	MF_REGION_THREADS,	  /* the shim's alone, see preload/state.h; no part of the profile */
	MF_REGION_COUNT,
};

/* Instead of an address: the object's code was looked through, and no client request is in it. */
#define MF_NEW_RULE_SEARCHED UINT32_MAX

struct mf_region {
	uint64_t offset; /* in the file, a multiple of the page size */
	uint64_t size;	 /* bytes reserved */
};

/* Why the profile stopped growing before the program ended. */
enum mf_store_full {
	MF_STORE_FULL_NODES = 1u << 0,
	MF_STORE_FULL_CONTEXTS = 1u << 1,
	MF_STORE_FULL_CAPTURES = 1u << 2,
	MF_STORE_FULL_BLOCKS = 1u << 3,
	MF_STORE_FULL_OBJECTS = 1u << 4,
	MF_STORE_FULL_LEDGER = 1u << 5,
};

#define MF_STORE_NAME_MAX    64u
#define MF_STORE_PATTERN_MAX 512u

enum mf_verify {
	MF_VERIFY_NOTHING,
	MF_VERIFY_STACKS,
	MF_VERIFY_IMPOSSIBLE, /* no libunwind in the program's reach */
	MF_VERIFY_RESTRICTED, /* until the program restricted its own system calls */
	MF_VERIFY_FORKED, /* begun, but libunwind was in use elsewhere when this process was forked */
};

struct mf_store_header {
	uint64_t magic;
	uint32_t version;
	uint32_t full; /* enum mf_store_full: regions that ran out */
	struct mf_region regions[MF_REGION_COUNT];

	/* Who fills it. */
	int32_t pid;	       /* of the program; 0 until the shim has attached */
	uint32_t depth;	       /* frames to capture at most */
	uint32_t merge_recursive; /* merge cycles of up to so many frames; 0: none */
	uint32_t executes;     /* the program is about to execute another one, or has */
	uint64_t events;       /* allocations, reallocations and frees seen */
	uint64_t events_lost;  /* not accounted: allocations inside the shim's own work, ... */
	uint64_t first_time_ns; /* CLOCK_MONOTONIC of the first event */

	/* The counter behind the time unit "i", as in struct perf_event_attr; and its sum. */
	uint32_t counter_type;
	uint32_t counters_missing; /* threads that could not have one */
	uint64_t counter_config;
	uint64_t instructions;

	/*
	 * Unit of milliseconds: the aggregator looks at the clock, so that the program need not, and
	 * says here that the time of the next snapshot has come.
	 */
	int64_t seen_ms; /* and this is what it saw last: since first_time_ns, exactly */
	uint32_t snapshot_due;
	uint32_t n_tallies; /* that were ever in use: the first ones */
	uint32_t granule_bits; /* of the table of blocks, see blocks.h */
	uint64_t capture;      /* the newest, or 0; see capture.h */

	/* What massif-ctl asks of the shim and the model, beside the model's options. */
	uint32_t logs_steps;	    /* enum mf_log_level: what to keep for the user; see log.h */
	uint32_t realloc_zero_keeps; /* a realloc to no bytes that returns a block resized it */
	uint32_t real_capacities;   /* the allocator's own, not the model's */
	uint32_t is_elsewhere; /* objects are in a namespace of their own */
	int32_t late_objects_error; /* why what is loaded later is not looked at, -errno; 0: it is */
	int32_t trace_fd;	    /* tell of each call there, a number above 2; 0: do not */
	uint32_t counts_stacks;	    /* of threads, see stacks.h */
	uint32_t leaves_heap;	    /* blocks do not count, only stacks */
	uint32_t keeps_ledger;	    /* what each stack allocates and frees is counted; see ledger.h */
	uint32_t went_on;	    /* how often the program could not say that after a fork; see fork.c */

	/* Allocation functions of the program's own; see preload/patch/takeover.h. */
	uint32_t has_somalloc;	  /* only those of objects whose names match somalloc are taken over */
	uint32_t capacities_unknown; /* real_capacities was taken back */
	uint32_t n_missed;	  /* how many could not be; of the first: */
	int32_t missed_error;	  /* -errno */
	uint64_t missed_address;
	char missed_name[MF_STORE_NAME_MAX];
	char somalloc[MF_STORE_PATTERN_MAX]; /* with its NUL */

	/* Of stacks compared with libunwind's, if massif-ctl asks for that; see preload/stack/verify.h. */
	uint32_t verify;	  /* enum mf_verify */
	uint32_t differs_context; /* the first that differs, in frame differs_frame, which is */
	uint32_t differs_frame;	  /* differs_pc there (0: none) */
	uint32_t children_restricted; /* forked after the program had restricted its system calls: no profile */
	uint32_t traces_children; /* what the program executes is profiled, too */
	uint64_t differs_pc;
	uint64_t verified, verify_differs; /* counts */

	/* Client requests in the program's code: whether to hear them; how many could not be, and why. */
	uint32_t hears_requests, requests_missed;
	int32_t requests_error; /* an errno */

	/* Who writes the file; see ctl/heap/origin.h. */
	int32_t aggregator;
	uint64_t aggregator_start;

	/* Which contexts count, where the options make that a question; see consult.h. */
	uint32_t consults; /* whether to ask */
	uint32_t question; /* the context asked about, or 0; a futex */
	uint32_t answer;   /* enum mf_answer; a futex */
	uint32_t may_not_wait; /* the program may make no system call for it */
	uint32_t consultant; /* whether somebody answers; see consult.h */
	uint32_t unanswered; /* nobody did, so all contexts counted from then on */

	/* How much of each region is in use; counts, not bytes. */
	uint32_t n_nodes, n_contexts, n_chunks, n_wide, n_leaves, n_objects;
	uint32_t first_object, last_object; /* of the list of mapped objects, see objects.h */
	uint32_t n_string_bytes, n_ledger;
	uint32_t n_steps, steps_lost;
	uint32_t node_hash_bits, n_hashed; /* size of the table and entries in it; see trie.c */
	uint32_t free_chunk, free_wide; /* heads of the free lists, 0: empty */
	uint32_t overflow; /* the context of stacks that found no room; 0: all have */
	uint32_t overflow_object; /* the note that is its frame; 0: not made yet */

	/* Where rows are kept (cfi/rowfile.h); empty: nowhere. And those that were not there. */
	char rows_directory[MF_STORE_PATH_MAX];
	uint32_t n_new_rules; /* that there were; as many as fit are in their region */

	/* Of the captures' pasts, see capture.c. */
	uint32_t chunks_in_use, prune_at; /* so many at least before they are pruned */
	uint32_t capture_readers;	  /* that want them to stay where they are */
	uint32_t capture_moves;		  /* odd while they are moved */
};

/*
 * One process's view of a store. The header is the first region. The threads' region is in the file, so that
 * it is one shared mapping, which counts to no limit of private memory and is there from the start; only a
 * process that attaches maps it. A store without a file has none.
 */
struct mf_store {
	struct mf_store_header *header;
	void *regions[MF_REGION_COUNT];
	uint64_t sizes[MF_REGION_COUNT];
	bool has_file; /* the memory is a memfd's, not this process's own */
	struct mf_held_file **files; /* what this process holds open of each object; NULL: of none */
};

/*
 * Makes a store. @budget bounds the address space that a process which maps it will need, in bytes
 * (0: no bound); regions shrink with it. With @fd not NULL the memory is a memfd, sealed against
 * changes of its size, and *@fd is the caller's to close; otherwise it is private memory. Returns 0
 * or -errno.
 */
int mf_store_create(struct mf_store *store, uint64_t budget, int *fd, struct mf_error *err);

/* Maps the store behind @fd, which may be closed afterwards. Refuses what is no store. */
int mf_store_attach(struct mf_store *store, int fd, struct mf_error *err);

/* The same in the place of @store, which must be of the same form. */
int mf_store_attach_again(struct mf_store *store, int fd);

/*
 * What this process changes in @store, which is behind @fd, is its own from now on; nobody else sees it.
 * Where that fails, some of it may still be seen.
 */
int mf_store_keep_changes(struct mf_store *store, int fd);

/* Unmaps what _create or _attach mapped. */
void mf_store_detach(struct mf_store *store);

/*
 * Takes what was read of @region out of this process's resident memory, if it is a file's: what is read
 * again comes back.
 */
void mf_store_let_go(const struct mf_store *store, enum mf_region_id region);

static inline void mf_store_set_full(struct mf_store *store, enum mf_store_full what)
{
	store->header->full |= what;
}

/* Whether element @index of a region of elements of @size bytes lies inside it. */
static inline bool mf_store_fits(const struct mf_store *store, enum mf_region_id region,
				 uint64_t index, size_t size)
{
	return index < store->sizes[region] / size;
}

#endif
