// SPDX-License-Identifier: GPL-2.0
// If a writer is stopped between any two instructions, the trees in the store are still correct: every kept snapshot
// gives, for each context, the bytes that the context had when the snapshot was taken.
//
// The expected values come from the simple model (model_oracle.h), which processes the same events. The writer is
// either a separate process that is killed at a random time, or one that is single-stepped through an event.

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "model/tree_version.h"
#include "model/heap.h"
#include "model/model.h"
#include "model/rewind.h"
#include "model/tally.h"
#include "model/trie.h"
#include "selftests/lib/model_oracle.h"

#define EVENTS	 60000u
#define CONTEXTS 40
#define BLOCKS	 400u
#define TALLIES	 3u

struct known {
	int64_t time;
	uint64_t heap, extra;
	uint32_t n; /* number of contexts */
	uint64_t bytes[CONTEXTS];
};

/* The writer's progress, in shared memory. */
struct progress {
	volatile uint32_t event; /* number of the event that the writer is processing, or EVENTS when it is done */
};

static struct mf_store store;
static struct mf_tally_ctx desks[TALLIES];
static struct progress *progress;
static struct oracle oracle;
static struct known *known; /* all snapshots ever taken */
static uint32_t n_known;
static uint64_t sizes[BLOCKS]; /* sizes of live blocks; 0: not live */

/*
 * An event. Given the same seed, the writer process and the simple model generate the same events. If @size is 0, the
 * event frees block @i. Otherwise, it allocates block @i with @size bytes, or resizes it to that size, from the call
 * stack with number @context.
 */
struct event {
	uint32_t i, tally;
	uint64_t size;
	int context;
};

static struct event next_event(uint64_t *seed, int n_contexts, uint32_t number)
{
	struct event event = {
		.i = (uint32_t)oracle_below(seed, BLOCKS),
		.tally = (uint32_t)oracle_below(seed, TALLIES),
		.size = 1 + oracle_below(seed, 200) * (1 + number / 100),
		.context = (int)oracle_below(seed, (uint64_t)(n_contexts < CONTEXTS ?
								      n_contexts + 1 :
								      CONTEXTS)),
	};

	if (oracle_below(seed, 3) == 0)
		event.size = 0;
	return event;
}

static uint64_t address_of(uint32_t i)
{
	return 0x10000 + i * 0x1000ull;
}

static uint32_t context_of(int number)
{
	struct mf_frame frame = { .pc = 0x401000 + (uint64_t)number };

	return mf_trie_insert(&store, &frame, 1);
}

/*
 * Carries out all delayed frees before @event is counted. mf_tally_settle() carries out the delayed free, if any, of
 * the tally to which the event belongs. If that fails, or if another tally has a delayed free, mf_tally_fold() adds all
 * tallies to the totals and carries out all delayed frees. The shim does the same before a second thread starts,
 * because frees may be delayed only while the program is single-threaded.
 */
static void settle(const struct event *event)
{
	bool done = mf_tally_settle(&desks[event->tally], true);

	for (uint32_t i = 0; i < TALLIES; i++)
		done = done && !desks[i].tally->delayed_free;
	if (done)
		return;
	mf_tally_fold(&store);
	mf_tally_grant(&store);
}

/*
 * Frees the block of @event. If the block's number is odd and mf_tally_delay_free() permits it, the free is delayed
 * until the next event.
 */
static void write_free(const struct event *event)
{
	struct mf_block block;

	settle(event);
	if (event->i % 2 && mf_tally_delay_free(&desks[event->tally], address_of(event->i)))
		return;

	if (mf_tally_free(&desks[event->tally], address_of(event->i), &block, true))
		return;
	mf_tally_fold(&store);
	mf_heap_free(&store, address_of(event->i), 0);
	mf_tally_grant(&store);
}

static void write_alloc(const struct event *event, uint32_t context)
{
	settle(event);
	if (mf_tally_alloc(&desks[event->tally], address_of(event->i), event->size, context, true))
		return;
	mf_tally_fold(&store);
	mf_heap_alloc(&store, address_of(event->i), event->size, context, 0);
	mf_tally_grant(&store);
}

static void write_realloc(const struct event *event, uint32_t context)
{
	struct mf_block block;

	settle(event);
	if (!mf_tally_realloc_begin(&desks[event->tally], address_of(event->i), &block))
		mf_heap_realloc_begin(&store, address_of(event->i), &block);
	if (mf_tally_realloc_end(&desks[event->tally], &block, address_of(event->i), event->size,
				 context))
		return;
	mf_tally_fold(&store);
	mf_heap_realloc_shrinks(&store, &block, event->size, 0);
	mf_heap_realloc_end(&store, &block, address_of(event->i), event->size, context, 0);
	mf_tally_grant(&store);
}

/*
 * State of the checks that on_trap() makes while the writer is single-stepped. lead() starts single-stepping, and
 * let_go() ends it.
 */
static uint32_t looks, until_look, stride;
static uint64_t stride_seed = 53;
static bool all_right;

static int right_trees(void);

static void on_trap(int signal)
{
	if (signal != SIGTRAP || --until_look)
		return;
	until_look = 1 + (uint32_t)oracle_below(&stride_seed, 2 * stride);
	looks++;
	all_right = all_right && right_trees() >= 0;
}

#ifdef __x86_64__
#define TRAP_FLAG 0x100u

/* Sets the trap flag: after each instruction, a SIGTRAP is raised. */
static void lead(void)
{
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRAP_FLAG);
}

static void let_go(void)
{
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~(uint64_t)TRAP_FLAG);
}
#else
static void lead(void)
{
}

static void let_go(void)
{
}
#endif

/*
 * Events that have a rare effect: they create a new tree version, cull snapshots, or prune old tree versions, which
 * moves records between chunks. rare[i][j] is the number of the first event at or after starts[i] that has effect j, or
 * EVENTS if there is none.
 */
enum rare { CAPTURE, CULLING, PRUNING, RARE_COUNT };

#define STARTS 2
#define NOTES_RARE (EVENTS + 1)

static const uint32_t starts[STARTS] = { 0, 20000 };
static uint32_t rare[STARTS][RARE_COUNT];

static void note_rare(uint32_t number)
{
	static uint64_t before[RARE_COUNT];
	const uint64_t counts[RARE_COUNT] = {
		mf_tree_version_number(store.header->capture),
		mf_model_of(&store)->cullings,
		store.header->capture_moves,
	};

	for (int i = 0; i < STARTS; i++)
		for (int j = 0; j < RARE_COUNT; j++)
			if (number && counts[j] > before[j] && number >= starts[i] &&
			    rare[i][j] == EVENTS)
				rare[i][j] = number;
	memcpy(before, counts, sizeof(before));
}

/*
 * The code of the writer process, which processes the first @end events. It single-steps event number @led, so that
 * on_trap() can check the store between two instructions. If @led is NOTES_RARE, it single-steps no event; instead, it
 * calls note_rare() after each event, to find the numbers of the events with rare effects.
 */
static void write_events(uint64_t seed, uint32_t end, uint32_t led)
{
	int n_contexts = 0;

	memset(sizes, 0, sizeof(sizes));
	for (uint32_t i = 0; i < TALLIES; i++)
		mf_tally_begin(&store, i);
	for (uint32_t i = 0; i < TALLIES; i++)
		desks[i] = mf_tally_ctx_of(&store, i);
	mf_tally_grant(&store);
	for (uint32_t number = 0; number < end; number++) {
		struct event event = next_event(&seed, n_contexts, number);
		uint32_t context = event.size ? context_of(event.context) : 0;

		if (event.size && event.context == n_contexts)
			n_contexts++;
		progress->event = number;
		if (number == led)
			lead();
		if (!event.size)
			write_free(&event);
		else if (sizes[event.i])
			write_realloc(&event, context);
		else
			write_alloc(&event, context);
		let_go();
		if (led == NOTES_RARE)
			note_rare(number);
		sizes[event.i] = event.size;
	}
	progress->event = EVENTS;
}

static void note(const struct oracle_snapshot *s)
{
	struct known *k = &known[n_known];

	if (n_known && (s->time < k[-1].time || (s->time == k[-1].time && s->heap == k[-1].heap &&
						 !memcmp(k[-1].bytes, s->leaves, sizeof(k->bytes)))))
		return;
	n_known++;
	*k = (struct known){ .time = s->time, .heap = s->heap, .extra = s->extra,
			     .n = (uint32_t)s->n_leaves };
	memcpy(k->bytes, s->leaves, sizeof(k->bytes));
}

/*
 * Records the detailed snapshots that might be new: the peak and the last snapshot. Neither can have been culled since
 * it was taken.
 */
static void note_new(void)
{
	for (int i = 0; i < oracle.n_snapshots; i++)
		if (oracle.snapshots[i].detailed &&
		    (oracle.snapshots[i].peak || i == oracle.n_snapshots - 1))
			note(&oracle.snapshots[i]);
}

/* The simple model: processes all events and records the contents of every snapshot. */
static void replay(uint64_t seed, const struct mf_model_options *options)
{
	n_known = 0;
	memset(sizes, 0, sizeof(sizes));
	oracle_init(&oracle, options);
	oracle_attempt(&oracle, 0);
	note_new();
	for (uint32_t number = 0; number < EVENTS; number++) {
		struct event event = next_event(&seed, oracle.n_contexts, number);
		uint64_t peak = oracle.peak_total, taken = oracle.clock;
		struct oracle_block before;

		if (event.size && event.context == oracle.n_contexts)
			oracle.n_contexts++;
		if (!event.size) {
			oracle_free(&oracle, address_of(event.i), 0);
		} else if (sizes[event.i]) {
			oracle_take(&oracle, address_of(event.i), &before);
			oracle_realloc_end(&oracle, &before, address_of(event.i), event.size,
					   event.context, 0);
		} else {
			oracle_alloc(&oracle, address_of(event.i), event.size, event.context, 0);
		}
		sizes[event.i] = event.size;
		if (peak != oracle.peak_total || taken != oracle.clock)
			note_new();
	}
}

static bool is_known(const struct mf_snapshot *s, uint32_t n, const uint64_t *bytes)
{
	uint32_t low = 0, high = n_known;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (known[middle].time < s->time)
			low = middle + 1;
		else
			high = middle;
	}
	for (uint32_t i = low; i < n_known && known[i].time == s->time; i++)
		if (known[i].heap == s->heap &&
		    known[i].extra == s->extra && known[i].n == n &&
		    !memcmp(known[i].bytes, bytes, n * sizeof(*bytes)))
			return true;
	return false;
}

/* Returns the number of trees in the store, or -1 if one of them matches none of the snapshots that were taken. */
static int right_trees(void)
{
	static struct mf_snapshot_view views[MF_SNAPSHOTS_MAX];
	static uint64_t cells[(CONTEXTS + 1) * MF_SHARDS_MAX];
	uint64_t bytes[CONTEXTS];
	struct mf_rewind rewind;
	int trees = 0;

	memset(cells, 0, sizeof(cells));
	if (mf_rewind_prepare(&rewind, &store) > sizeof(cells) / sizeof(*cells))
		return -1;
	mf_rewind_begin(&rewind, cells);
	for (uint32_t i = mf_model_view(&store, views); i-- > 0;) {
		const struct mf_snapshot *s = &views[i].snapshot;

		if (views[i].tree == MF_TREE_EMPTY)
			continue;
		trees++;
		if (!is_known(s, mf_rewind_to(&rewind, s->capture, bytes, CONTEXTS), bytes))
			return -1;
	}
	return trees;
}

FIXTURE(killed)
{
	uint64_t seed;
};

FIXTURE_VARIANT(killed)
{
	struct mf_model_options options;
};

FIXTURE_VARIANT_ADD(killed, defaults)
{
	.options = { 1, 100, 10, MF_TIME_BYTES, 8, 16 },
};
FIXTURE_VARIANT_ADD(killed, exact_peaks)
{
	.options = { 0, 100, 10, MF_TIME_BYTES, 8, 16 },
};
FIXTURE_VARIANT_ADD(killed, few_snapshots)
{
	.options = { 0, 10, 1, MF_TIME_BYTES, 8, 16 },
};

FIXTURE_SETUP(killed)
{
	self->seed = 51;
	progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, progress);
	known = calloc(2 * EVENTS, sizeof(*known));
	ASSERT_NE(NULL, known);
	replay(self->seed, &variant->options);
}

FIXTURE_TEARDOWN(killed)
{
	free(known);
	munmap(progress, 4096);
}

/*
 * Creates a store whose mappings are inherited by children (MADV_DOFORK), so that a child can change it until it is
 * killed.
 */
static bool make_store(const struct mf_model_options *options)
{
	int fd;

	if (mf_store_create(&store, 1ull << 30, &fd, NULL))
		return false;
	close(fd);
	for (int i = 0; i < MF_REGION_COUNT; i++)
		if (store.regions[i] && madvise(store.regions[i], store.sizes[i], MADV_DOFORK))
			return false;
	mf_model_init(&store, options);
	mf_model_attempt(&store, 0);
	progress->event = 0;
	return true;
}

TEST_F_TIMEOUT(killed, at_any_time, 120)
{
	uint64_t random = 52, trees = 0;
	uint32_t early = 0;

	for (int round = 0; round < 40; round++) {
		struct timespec pause = { .tv_nsec = (long)oracle_below(&random, 12000000) };
		int status, n;
		pid_t pid;

		ASSERT_TRUE(make_store(&variant->options));
		pid = fork();
		ASSERT_LE(0, pid);
		if (pid == 0) {
			write_events(self->seed, EVENTS, EVENTS);
			_exit(0);
		}
		nanosleep(&pause, NULL);
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		n = right_trees();
		ASSERT_LE(0, n)
		{
			TH_LOG("round %d, event %u", round, progress->event);
		}
		trees += (uint64_t)n;
		early += WIFSIGNALED(status) && progress->event > 0;
		mf_store_detach(&store);
	}
	TH_LOG("%u of 40 were killed at work; %lu trees", early, trees);
	EXPECT_LT(5, early);
	EXPECT_LT(100, trees);
}

TEST_F_TIMEOUT(killed, between_instructions, 240)
{
	struct sigaction action = { .sa_handler = on_trap };
	uint32_t met[RARE_COUNT] = { 0 };

#ifndef __x86_64__
	SKIP(return, "stops after each instruction on x86-64 only");
#endif
	for (int i = 0; i < STARTS; i++)
		for (int j = 0; j < RARE_COUNT; j++)
			rare[i][j] = EVENTS;
	ASSERT_TRUE(make_store(&variant->options));
	write_events(self->seed, EVENTS, NOTES_RARE);
	mf_store_detach(&store);
	ASSERT_EQ(0, sigaction(SIGTRAP, &action, NULL));
	all_right = true;
	for (int i = 0; i < STARTS; i++) {
		for (int j = 0; j < RARE_COUNT; j++) {
			if (rare[i][j] == EVENTS)
				continue;
			ASSERT_TRUE(make_store(&variant->options));
			looks = 0;
			until_look = 1;
			stride = j == PRUNING ? 100 : j == CULLING ? 12 : 2;
			write_events(self->seed, rare[i][j] + 1, rare[i][j]);
			ASSERT_TRUE(all_right)
			{
				TH_LOG("event %u", rare[i][j]);
			}
			EXPECT_LT(20, looks);
			met[j] += looks;
			mf_store_detach(&store);
		}
	}
	TH_LOG("looks: %u, %u in cullings, %u while captures moved", met[CAPTURE], met[CULLING],
	       met[PRUNING]);
	EXPECT_LT(100, met[CAPTURE]);
	EXPECT_LT(500, met[CULLING]);
	EXPECT_LT(500, met[PRUNING]);
}

TEST_HARNESS_MAIN
