// SPDX-License-Identifier: GPL-2.0
// Fuzzes what reads the session of a program that still runs, and whose stray writes have damaged it: samples of the
// resident set, and massif-ctl top.
//
// An input begins with a byte that chooses the session, one that chooses what reads it, one for each of the ranges of
// pages that are made up, and the shim's ranges in the memory of a process that is sampled. The rest is a list of
// patches (session/damage.h).

#include "selftests/fuzz/fuzz.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/proc_mapping.h"
#include "ctl/live/reader.h"
#include "model/trie.h"
#include "residency/heap_pages.h"
#include "residency/pagemap.h"
#include "residency/sample.h"
#include "selftests/fuzz/session/damage.h"
#include "selftests/fuzz/session/session.h"

#define PAGE	 4096ull
#define RANGES	 4u
#define OWN	 3u /* ranges of the shim in the sampled process */
#define NAP_NS	 1000000
#define NAPS_MAX 5000

int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Bits of the second byte of an input. */
enum {
	TOP = 1,	/* massif-ctl top */
	AGAIN = 2,	/* it attaches to the damaged session, rather than that the session is damaged while it is attached */
	PRIVATE = 4,	/* read the whole table of blocks, as if it were in no file */
	GLIBC = 8,	/* the blocks are those of glibc's allocator */
	SAMPLE = 16,	/* sample a process, which does nothing */
};

/* Bits of the bytes for the ranges; the others choose the states of the pages. */
enum {
	ARENA = 1,
	MAYBE_ARENA = 2,
	SHARED = 4,
};

static struct {
	pid_t pid; /* 0: there is none */
	uint64_t heap; /* address of its heap */
} sleeper;

static void check_sites(const struct mf_store *store, const struct mf_residency_site *sites, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		fuzz_require(sites[i].context + MF_CONTEXT_FIRST < mf_trie_contexts_max(store));
		fuzz_require(!i || sites[i].context > sites[i - 1].context);
	}
}

/* Adds ranges between which there are gaps. The last one begins after the small blocks, where large ones end. */
static void add_ranges(struct mf_heap_pages *pages, const uint8_t *bytes)
{
	for (uint64_t i = 0; i < RANGES; i++) {
		uint64_t start = FUZZ_SESSION_HEAP + (i < RANGES - 1 ? 2 * i : 1280) * PAGE;
		struct mf_heap_range *range = mf_heap_pages_add(pages, start, start + (1 + i / 2) * PAGE);

		fuzz_require(range);
		range->is_arena = bytes[i] & ARENA;
		range->may_be_arena = bytes[i] & MAYBE_ARENA;
		range->is_shared = bytes[i] & SHARED;
		memset(range->states, bytes[i] >> 3, 1 + i / 2);
	}
}

static void read_pages(const struct fuzz_session *session, unsigned int what, const uint8_t *ranges)
{
	struct mf_heap_pages pages = { .page = PAGE, .is_glibc = what & GLIBC };
	struct mf_residency_site *sites;
	size_t n;

	mf_live_blocks_change(&pages.blocks, what & PRIVATE ? 0 : session->memory);
	add_ranges(&pages, ranges);
	if (!mf_live_blocks_begin(&pages.blocks, &session->store) && !mf_heap_pages_fill(&pages, &session->store) &&
	    !mf_heap_pages_list_sites(&pages, &session->store, &sites, &n)) {
		check_sites(&session->store, sites, n);
		free(sites);
	}
	for (size_t i = 0; i < pages.n_ranges; i++)
		mf_heap_pages_are_free(&pages, &pages.ranges[i]);
	mf_heap_pages_deinit(&pages);
}

static void sample(const struct fuzz_session *session)
{
	struct mf_sample_memory earlier = { 0 };
	struct mf_residency_detail detail;
	struct mf_error err;

	if (!mf_sample_take(sleeper.pid, &session->store, 0, &earlier, NULL, &detail, &err))
		check_sites(&session->store, detail.sites, detail.n_sites);
	mf_residency_detail_deinit(&detail);
	mf_sample_memory_deinit(&earlier);
}

static void read_twice(struct mf_live_session *live)
{
	struct mf_error err;

	for (int i = 0; i < 2; i++)
		if (!mf_live_session_read(live, &err))
			fuzz_require(live->totals.resident_band < MF_BANDS && live->totals.peak >= live->totals.total);
}

static void look_at_top(const struct fuzz_session *session, unsigned int what)
{
	struct mf_live_session live = { .store = session->store, .memory = session->memory };
	struct mf_error err;

	if (!(what & AGAIN)) {
		read_twice(&live);
		free(live.contexts);
		return;
	}
	if (mf_live_session_open(&live, dup(session->memory), 0, false, &err))
		return;
	fuzz_session_spread(&live.store);
	read_twice(&live);
	fuzz_session_detach(&live.store);
	mf_live_session_close(&live);
}

/* The ranges need not be whole pages, and can overlap. */
static void add_own(const struct fuzz_session *session, struct fuzz_input *input)
{
	struct mf_own_range *own = session->store.header->own;

	for (uint32_t i = 0; i < OWN; i++) {
		uint64_t start = sleeper.heap + fuzz_u16(input) * 4ull;

		own[i] = (struct mf_own_range){ start, start + fuzz_u16(input) * 4ull };
	}
}

static void nap(void)
{
	const struct timespec time = { .tv_nsec = NAP_NS };

	nanosleep(&time, NULL);
}

static uint64_t heap_of(pid_t pid)
{
	struct mf_proc_mappings maps;
	struct mf_proc_mapping mapping;
	uint64_t heap = 0;

	if (mf_proc_mappings_open(&maps, pid))
		return 0;
	while (!heap && mf_proc_mappings_next(&maps, &mapping))
		heap = strcmp(mapping.path, "[heap]") == 0 ? mapping.start : 0;
	mf_proc_mappings_close(&maps);
	return heap;
}

/* Starts a process that sleeps until this one ends. Its addresses are the same each time. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	pid_t pid = fork();

	if (!pid) {
		for (int i = 0; i < 3; i++)
			dup2(nowhere, i);
		personality(ADDR_NO_RANDOMIZE);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/bin/sleep", "sleep", "infinity", NULL);
		_exit(127);
	}
	close(nowhere);
	/* Until it executes sleep, it has no heap: AddressSanitizer's allocator uses none. */
	for (int i = 0; pid > 0 && i < NAPS_MAX && !sleeper.heap; i++) {
		sleeper.heap = heap_of(pid);
		nap();
	}
	sleeper.pid = sleeper.heap ? pid : 0;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	struct fuzz_session *session = fuzz_session_of(fuzz_u8(&input));
	unsigned int what = fuzz_u8(&input);
	uint8_t ranges[RANGES];

	fuzz_take(&input, ranges, sizeof(ranges));
	add_own(session, &input);
	fuzz_damage(session, &input);
	if (what & TOP)
		look_at_top(session, what);
	else if (what & SAMPLE && sleeper.pid)
		sample(session);
	else
		read_pages(session, what, ranges);
	fuzz_mend(session);
	return 0;
}
