/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The store: the memory that holds a profile. It contains no pointers, so that it can be mapped at any address.
 *
 * In heap mode, it is a memfd that both the shim (its only writer) and the aggregator (a reader) map. So the profile
 * survives the program, complete up to its last event. In pages mode and in tests, it is anonymous memory of one
 * process. Each part of a store (trie, tree versions, live blocks, ...) is a region: a sparse range of the file that is
 * filled from its start upwards and whose pages are allocated when they are first touched.
 *
 * All functions of userland/model/ are pure, because they run inside malloc: they read no clock, do not call malloc,
 * and make no system call except for the mappings of store.c.
 */
#ifndef MASSIF_MODEL_STORE_H
#define MASSIF_MODEL_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define MF_STORE_MAGIC	 0x31736d6669737361ull
#define MF_STORE_VERSION 28

#define MF_STORE_PATH_MAX 512u

/* The regions of a store. Each comment names the type of a region's elements and says what they are. */
enum mf_region_id {
	MF_REGION_HEADER,	  /* struct mf_store_header: the store's header */
	MF_REGION_MODEL,	  /* struct mf_model: the totals and the snapshots */
	MF_REGION_NODES,	  /* struct mf_node[]: nodes of the trie */
	MF_REGION_NODE_HASH,	  /* uint32_t[]: hash table of the trie's nodes, see trie.c */
	MF_REGION_CONTEXT_BYTES,  /* struct mf_cell[][]: live bytes and counts of each context, see trie.h */
	MF_REGION_TEMPORARIES,	  /* uint64_t[][]: temporary allocations of each context, see trie.h */
	MF_REGION_SIZE_CLASSES,	  /* struct mf_size_class[][]: allocated blocks by their size, see size_classes.h */
	MF_REGION_CONTEXT_NODES,  /* uint32_t[]: node of the innermost frame of each context */
	MF_REGION_FUNCTIONS,	  /* uint8_t[]: the allocation function that each context has called, see trie.h */
	/* struct mf_chunk[]: records of the contexts' earlier byte counts, see tree_version.h */
	MF_REGION_CAPTURES,
	MF_REGION_BLOCK_DIRECTORY, /* directory of the table of blocks: uint32_t[], see blocks.c */
	MF_REGION_BLOCK_LEAVES,	  /* leaves of the table of blocks: uint32_t[][], see blocks.c */
	MF_REGION_WIDE_BLOCKS,	  /* struct mf_wide_block[]: the rare blocks that do not fit into slots, see blocks.c */
	MF_REGION_OBJECTS,	  /* struct mf_object_record[]: mapped objects, see objects.h */
	MF_REGION_STRINGS,	  /* paths of the objects */
	MF_REGION_STEPS,	  /* struct mf_step[]: the log of the model, see log.h */
	MF_REGION_TALLIES,	  /* struct mf_tally[]: counters of the threads, see tally.h */
	MF_REGION_LEDGER,	  /* struct mf_ledger_entry[]: sums for each stack, see ledger.h */
	MF_REGION_LEDGER_NUMBERS, /* uint32_t[]: number of each node's ledger entry */
	/*
	 * uint64_t[]: additions to the cache of unwind rules. The upper 32 bits contain an object's number. The lower
	 * 32 bits contain the code address of a rule that was not cached, or MF_NEW_RULE_SEARCHED if the object's code
	 * was searched and contains no client requests.
	 */
	MF_REGION_NEW_RULES,
	MF_REGION_THREAD_TABLE,	  /* struct mf_thread_record[]: the threads, see thread_table.h */
	/* The next regions exist only in stores that keep details, see details.h. */
	MF_REGION_DETAILS,	  /* struct mf_detail[][]: details of each context */
	MF_REGION_DETAIL_LINES,	  /* struct mf_detail_line[]: parts of the contexts' histograms */
	MF_REGION_BIRTHS,	  /* struct mf_birth[]: when the block at a slot of MF_REGION_BLOCK_LEAVES was allocated */
	MF_REGION_PAST_BLOCKS,	  /* uint64_t[]: a number of live blocks for each record of MF_REGION_CAPTURES */
	MF_REGION_ORIGIN,	  /* how the profile was started, see ctl/heap/origin.h */
	MF_REGION_THREADS,	  /* the shim's thread states, see preload/core/thread.h; not part of the profile */
	MF_REGION_COUNT,
};

/* Returns whether only stores that keep details have the region; in others, its size is 0. */
static inline bool mf_store_is_of_details(enum mf_region_id region)
{
	return region >= MF_REGION_DETAILS && region <= MF_REGION_PAST_BLOCKS;
}

/* Used instead of an address in MF_REGION_NEW_RULES: the object's code was searched and contains no client requests. */
#define MF_NEW_RULE_SEARCHED UINT32_MAX

struct mf_region {
	uint64_t offset; /* position in the file, in bytes; a multiple of the page size */
	uint64_t size;	 /* number of bytes reserved for the region */
};

/* Bits that say which regions have filled up, so that the profile stopped growing before the program ended. */
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
	MF_VERIFY_IMPOSSIBLE, /* stacks were not compared with libunwind's, because the program cannot load libunwind */
	/* stacks were compared with libunwind's only until the program restricted its own system calls */
	MF_VERIFY_RESTRICTED,
	/*
	 * stacks of this forked process were not compared with libunwind's, because another thread of the parent was
	 * using libunwind at the time of the fork
	 */
	MF_VERIFY_FORKED,
};

/* What is agreed on the sample of the resident set at the end of the program (--rss). */
enum mf_exit_sample {
	MF_ENDING_IGNORED, /* massif-ctl takes no such sample */
	MF_ENDING_AWAITED, /* massif-ctl waits for the end */
	MF_ENDING_WAITS,   /* the program has come to its end, and waits */
	MF_ENDING_SAMPLED, /* massif-ctl is taking the sample */
	MF_ENDING_OVER,	   /* the sample was taken, or the program has not waited any longer */
};

#define MF_STORE_OWN_MAX 512u

/* A range of the program's address space in which the shim has private memory. */
struct mf_own_range {
	uint64_t start, end; /* addresses; both 0: not in use */
};

struct mf_store_header {
	uint64_t magic;
	uint32_t version;
	uint32_t full; /* enum mf_store_full: which regions are full */
	struct mf_region regions[MF_REGION_COUNT];

	/* Information on the process that writes the store. */
	int32_t pid;	       /* process id of the program; 0 until the shim has attached */
	uint32_t depth;	       /* maximum number of frames in a stack */
	uint32_t merge_recursive; /* maximum length of a cycle of recursive frames that is merged; 0: no merging */
	uint32_t executes;     /* the program is about to execute another program, or has done so */
	uint64_t events;       /* allocations, reallocations and frees that were counted */
	uint64_t events_lost;  /* events that could not be counted, for example calls made from inside the shim */
	uint64_t first_time_ns; /* CLOCK_MONOTONIC time of the first event, in nanoseconds */

	/*
	 * The hardware counter for the time unit "i": type and config as in struct perf_event_attr, and the sum over
	 * all threads.
	 */
	uint32_t counter_type;
	uint32_t counters_missing; /* number of threads whose instruction counter could not be opened */
	uint64_t counter_config;
	uint64_t instructions;

	/*
	 * If the time unit is milliseconds, the aggregator watches the clock, so that the program need not. The
	 * aggregator sets snapshot_due when the next snapshot is due.
	 */
	int64_t seen_ms; /* the time that the aggregator last read, relative to first_time_ns */
	uint32_t snapshot_due;
	uint32_t n_tallies; /* tallies 0 to n_tallies - 1 are or were in use */
	/* log2 of the size in bytes of a granule, the unit of the table of blocks; see blocks.h */
	uint32_t granule_bits;
	uint64_t capture;      /* the newest tree version, or 0; see tree_version.h */

	/* Options that massif-ctl sets for the shim and the model, besides struct mf_model_options. */
	uint32_t logs_steps;	    /* enum mf_log_level: which of the model's actions are logged; see log.h */
	uint32_t realloc_zero_keeps; /* a realloc to 0 bytes that returns a block counts as a resize */
	/* use the capacities of blocks that the real allocator reports, not those that the model computes */
	uint32_t real_capacities;
	uint32_t is_elsewhere; /* the program has loaded libraries into a separate namespace (dlmopen), which is not
			        * profiled */
	/* 0 if objects that are loaded later are patched as well; otherwise the reason why they are not, as -errno */
	int32_t late_objects_error;
	int32_t trace_fd;	    /* descriptor (greater than 2) to which allocation calls are traced; 0: no trace */
	uint32_t counts_stacks;	    /* count the threads' stacks as memory, see stacks.h */
	uint32_t leaves_heap;	    /* count only stacks, not heap blocks */
	uint32_t keeps_ledger;	    /* keep the ledger of what each stack allocates and frees; see ledger.h */
	uint32_t keeps_details;	    /* keep the details of what each context allocates; see details.h */
	uint32_t separates_threads; /* keep the stacks of different threads apart; see thread_table.h */
	uint32_t counts_threads; /* keep sums of what each thread allocates; see thread_totals.h */
	/*
	 * counts the forks after which the process resumed changing this store although it could not notify massif-ctl
	 * (MF_JOIN_GO_ON failed). The child's copy of the store may then be inconsistent; see fork.c.
	 */
	uint32_t went_on;

	/* The program's own allocation functions; see preload/patch/takeover.h. */
	uint32_t has_somalloc;	  /* patch only functions in objects whose names match somalloc */
	/* massif-ctl set real_capacities, but the shim could not use the real allocator's capacities */
	uint32_t capacities_unknown;
	/*
	 * number of functions that could not be patched; missed_error, missed_address and missed_name describe the
	 * first
	 */
	uint32_t n_missed;
	int32_t missed_error;	  /* error (-errno) for the first of the functions that could not be patched */
	uint64_t missed_address;
	char missed_name[MF_STORE_NAME_MAX];
	char somalloc[MF_STORE_PATTERN_MAX]; /* NUL-terminated wildcard pattern for sonames */

	/* The comparison of stacks with libunwind's results, if massif-ctl requests it; see preload/stack/verify.h. */
	/* enum mf_verify: whether stacks are compared with libunwind's and, if not, the reason */
	uint32_t verify;
	uint32_t differs_context; /* the first context whose stack differed from libunwind's */
	/*
	 * the first frame of differs_context that differed from libunwind's; differs_pc is the address in libunwind's
	 * stack, or 0 if that stack has no such frame
	 */
	uint32_t differs_frame;
	uint32_t children_restricted; /* number of processes forked after the program restricted its system calls;
				       * they have no profile */
	uint32_t traces_children; /* whether programs that the program executes are profiled, too */
	uint64_t differs_pc;
	/* number of stacks that were compared with libunwind's, and number of those that differed */
	uint64_t verified, verify_differs;

	/* Client requests in the program's code: whether to honour them, and how many could not be patched. */
	uint32_t takes_requests, requests_missed;
	int32_t requests_error; /* why the code of some client requests could not be patched: a positive errno */

	/* The last sample of the resident set (--rss), for massif-ctl top; written by massif-ctl. */
	uint32_t resident_band; /* the part of it that has most: enum mf_band */
	uint64_t resident_most; /* bytes of that part */
	uint64_t resident;	/* bytes of all parts; 0: there is no sample */

	/* Pid and start time of the process that writes the output file; see ctl/heap/origin.h. */
	int32_t aggregator;
	uint64_t aggregator_start;

	/* Fields used to query whether a context is to be counted; see filter_client.h. */
	uint32_t consults; /* the shim must ask the filter server whether to count the blocks of a new context */
	/* the context about which the shim has asked the filter server and awaits an answer, or 0; used as a futex */
	uint32_t question;
	uint32_t answer;   /* whether the context in @question is to be counted: enum mf_answer; used as a futex */
	uint32_t may_not_wait; /* the program may not make futex system calls, so it polls for answers */
	uint32_t filter_server; /* thread ID of the filter server, or 0; see filter_client.h */
	uint32_t unanswered; /* the filter server did not answer, so every new context was counted from then on */

	/* How much of each region is in use, as a number of elements. */
	uint32_t n_nodes, n_contexts, n_chunks, n_wide, n_leaves, n_objects;
	uint32_t first_object, last_object; /* first and last element of the list of mapped objects, see objects.h */
	uint32_t n_string_bytes, n_ledger, n_threads;
	uint32_t n_steps, steps_lost;
	uint32_t node_hash_bits, n_hashed; /* the trie's hash table: log2 of its size, and its entries; see trie.c */
	/*
	 * Heads of two free lists, 0 if the list is empty. free_chunk: chunks for records of the contexts' earlier byte
	 * counts (struct mf_chunk). free_wide: entries for blocks that do not fit into the slots of the table of blocks
	 * (struct mf_wide_block).
	 */
	uint32_t free_chunk, free_wide;
	uint32_t overflow; /* context for stacks that did not fit into the store; 0: none so far */
	uint32_t thread_object; /* the object of the threads' nodes, see thread_table.h; 0: threads are not kept apart */
	uint32_t overflow_object; /* placeholder object shown as the only frame of @overflow; 0: none so far */

	/*
	 * The directory with the files of cached unwind rows (cfi/rowfile.h), or "" if there is none.
	 * MF_REGION_NEW_RULES lists the rules that were not found there.
	 */
	char rows_directory[MF_STORE_PATH_MAX];
	uint32_t n_new_rules; /* number of rules that were not cached, including those that did not
				 * fit into MF_REGION_NEW_RULES */

	/* Chunks of the tree versions, see tree_version.c. */
	/*
	 * prune_at: when this many chunks are in use, delete the records that no kept snapshot needs, and free the
	 * chunks that become empty
	 */
	uint32_t chunks_in_use, prune_at;
	/* number of readers that rely on the records of earlier byte counts (struct mf_past) staying where they are */
	uint32_t capture_readers;
	/* odd while the writer is moving records of earlier byte counts (struct mf_past) between chunks */
	uint32_t capture_moves;

	/*
	 * The details of contexts (details.h). All threads change @position in every allocation, so it has a cache line of
	 * its own.
	 */
	_Alignas(64) uint64_t position; /* bytes that the program has allocated since the start */
	_Alignas(64) uint64_t details_lost; /* details of blocks that are not known */
	uint32_t ending; /* enum mf_exit_sample; a futex */
	/*
	 * The thread of massif-ctl that waits for @ending, as in a robust futex: its ID, and FUTEX_OWNER_DIED, which the kernel
	 * sets when the thread ends for whatever reason.
	 */
	uint32_t watcher;
	struct mf_own_range own[MF_STORE_OWN_MAX]; /* see preload/core/own_memory.h */
	uint32_t n_detail_lines; /* lines 1 to n_detail_lines - 1 of MF_REGION_DETAIL_LINES are in use */
};

/*
 * One process's view of a store; the header is the first region. MF_REGION_THREADS holds the shim's state for each of
 * the program's threads. Only stores backed by a file have it, and only a process that attaches to the store maps it.
 * It is part of the file for two reasons: a shared mapping does not count against the program's limits on private
 * memory; and because it is mapped from the start, no new mapping is needed when a thread starts.
 */
struct mf_store {
	struct mf_store_header *header;
	void *regions[MF_REGION_COUNT];
	uint64_t sizes[MF_REGION_COUNT];
	/*
	 * the tally of the thread whose event the model handles; the shard of the size classes of the same number counts the
	 * event
	 */
	uint32_t shard;
	bool has_file; /* true if the memory is a memfd, false if it is private */
	struct mf_held_file **files; /* files that this process holds open, indexed by object number; NULL: no
				      * files */
	/* where the regions are in the file: the header says the same, but the program can change that */
	uint64_t offsets[MF_REGION_COUNT];
};

/*
 * Creates a store. @budget limits the address space that a process needs to map it, in bytes (0: no limit); regions are
 * shrunk to fit. If @fd is not NULL, the memory is a memfd whose size is sealed, and the caller has to close *@fd;
 * otherwise it is private memory. Returns 0 or -errno.
 */
int mf_store_create(struct mf_store *store, uint64_t budget, int *fd, struct mf_error *err);

/* Like mf_store_create(), for a store that keeps details: it has all regions, and keeps_details is set. */
int mf_store_create_detailed(struct mf_store *store, uint64_t budget, int *fd, struct mf_error *err);

/*
 * Creates a store in the empty memfd @fd, which may be sealed and belongs to the caller in any case. The store keeps details
 * if @has_details is true. Returns 0 or -errno.
 */
int mf_store_create_in(struct mf_store *store, uint64_t budget, bool has_details, int fd, struct mf_error *err);

/*
 * Returns whether the regions of a store have possible sizes. One that keeps details has all regions; one of pages mode has
 * no threads (@has_threads is false).
 */
bool mf_store_has_sizes(const struct mf_region *regions, bool keeps_details, bool has_threads);

/* Maps the store in the file @fd, which may be closed afterwards. Returns 0, or -errno if it is not a valid store. */
int mf_store_attach(struct mf_store *store, int fd, struct mf_error *err);

/*
 * Like mf_store_attach(), but for a process that only reads: its writes would be faults. @fd may be open for reading
 * only. Reading a page that was never written to allocates it; so first ask the file where its data is.
 */
int mf_store_attach_to_read(struct mf_store *store, int fd, struct mf_error *err);

/* Maps the store in @fd at the addresses of @store, whose regions must have the same sizes. Returns 0 or -errno. */
int mf_store_attach_again(struct mf_store *store, int fd);

/*
 * Makes this process's view of @store private, so that its changes no longer reach the file @fd. Returns 0 or -errno;
 * after a failure some regions may still be shared.
 */
int mf_store_keep_changes(struct mf_store *store, int fd);

/* Unmaps a store that was created or attached. */
void mf_store_detach(struct mf_store *store);

/*
 * If @region is backed by a file, drops its pages from this process's resident memory. Reading them again brings them
 * back.
 */
void mf_store_let_go(const struct mf_store *store, enum mf_region_id region);

static inline void mf_store_set_full(struct mf_store *store, enum mf_store_full what)
{
	store->header->full |= what;
}

/* Returns whether element @index, of @size bytes, is inside the region. */
static inline bool mf_store_fits(const struct mf_store *store, enum mf_region_id region,
				 uint64_t index, size_t size)
{
	return index < store->sizes[region] / size;
}

#endif
