// SPDX-License-Identifier: GPL-2.0
// Valid sessions with a bit of everything, as if programs had filled them.

#include "selftests/fuzz/session/session.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/blocks.h"
#include "model/details.h"
#include "model/heap.h"
#include "model/ledger.h"
#include "model/log.h"
#include "model/model.h"
#include "model/objects.h"
#include "model/own_ranges.h"
#include "model/stacks.h"
#include "model/tally.h"
#include "model/thread_table.h"
#include "model/thread_totals.h"
#include "model/trie.h"
#include "selftests/fuzz/fuzz.h"

#define PAGE	4096ull
#define BUDGET	(460ull << 20)
#define GAP	(64ull << 20) /* between two regions */
#define THREADS 3u
#define EVENTS	90u

/* A session that is being filled. */
struct filling {
	struct mf_store *store;
	unsigned int kind;
	uint32_t nodes[THREADS]; /* of the trie, below which the stacks of the threads are */
	uint32_t random;
};

static uint32_t next(struct filling *filling)
{
	filling->random = filling->random * 1664525 + 1013904223;
	return filling->random >> 12;
}

static void add_objects(struct filling *filling)
{
	static const char *const existing[] = { "/bin/true", "/lib/libexample.so", "[vdso]" };
	static const char *const missing[] = { "/nowhere/program", "/nowhere/libexample.so", "[vdso]" };

	for (uint64_t i = 0; i < 3; i++) {
		struct mf_object object = {
			.kind = i < 2 ? MF_OBJECT_FILE : MF_OBJECT_VDSO,
			.start = i << 20,
			.end = (i + 1) << 20,
			.path = filling->kind & FUZZ_SESSION_FILES ? existing[i] : missing[i],
			.build_id = { 1, 2, 3 },
			.build_id_size = 20,
		};

		mf_objects_add(filling->store, &object);
	}
}

static void add_threads(struct filling *filling)
{
	static const char names[THREADS][MF_THREAD_NAME_SIZE] = { "main", "worker", "reader" };
	bool apart = filling->store->header->separates_threads;

	if (apart)
		mf_thread_table_init(filling->store);
	for (uint32_t i = 0; i < THREADS; i++) {
		uint32_t number = 0;

		filling->nodes[i] = MF_NODE_ROOT;
		if (apart)
			filling->nodes[i] = mf_thread_table_add(filling->store, (int32_t)(100 + i), names[i]);
		else
			number = mf_thread_table_enter(filling->store, (int32_t)(100 + i), names[i]);
		mf_thread_totals_begin(filling->store, i, number);
		mf_tally_take_over(filling->store, i);
		mf_tally_begin(filling->store, i);
	}
}

static uint32_t make_context(struct filling *filling, uint32_t thread)
{
	uint32_t node = filling->nodes[thread], n = 1 + next(filling) % 6;

	for (uint32_t i = 0; i < n; i++) {
		struct mf_frame frame = { .pc = 0x1000 + next(filling) % 3, .object = next(filling) % 4 };

		node = mf_trie_child(filling->store, node, frame);
	}
	return mf_trie_context(filling->store, node);
}

static void begin(struct filling *filling, uint32_t thread)
{
	mf_tally_fold(filling->store);
	filling->store->shard = thread;
	filling->store->header->events++;
}

static void allocate(struct filling *filling, uint32_t thread, uint64_t address, uint64_t size)
{
	struct mf_store *store = filling->store;
	const struct mf_tally_ctx ctx = mf_tally_ctx_of(store, thread);
	uint32_t context = make_context(filling, thread);

	mf_trie_set_function(store, context, (uint8_t)(context % MF_FUNCTIONS));
	if (store->header->keeps_ledger)
		mf_ledger_alloc(store, context, size);
	if (mf_tally_alloc(&ctx, address, size, context, true)) {
		ctx.tally->allocations++;
		if (mf_details_are_kept(store))
			mf_details_alloc(store, (struct mf_detail_place){ thread, thread }, context, address, size);
		return;
	}
	begin(filling, thread);
	mf_tally_note_alloc(ctx.tally, address);
	mf_heap_alloc(store, address, size, context, 0);
	mf_tally_grant(store);
}

static void release(struct filling *filling, uint32_t thread, uint64_t address)
{
	struct mf_store *store = filling->store;
	const struct mf_tally_ctx ctx = mf_tally_ctx_of(store, thread);
	struct mf_block block;

	if (mf_tally_free(&ctx, address, &block, true)) {
		if (mf_details_are_kept(store))
			mf_details_free(store, (struct mf_detail_place){ thread, thread }, &block);
	} else {
		bool found;

		begin(filling, thread);
		found = mf_heap_free_block(store, address, &block, 0);
		mf_tally_grant(store);
		if (!found)
			return;
		mf_tally_note_free(store, ctx.tally, &block);
	}
	if (store->header->keeps_ledger)
		mf_ledger_free(store, filling->nodes[thread], &block);
}

/* A block that realloc has made smaller keeps its capacity. */
static void shrink(struct filling *filling, uint32_t thread, uint64_t address)
{
	struct mf_store *store = filling->store;
	struct mf_block block;

	begin(filling, thread);
	if (mf_heap_realloc_begin(store, address, &block))
		mf_heap_realloc_end(store, &block, address, block.size / 4, make_context(filling, thread), 0);
	mf_tally_grant(store);
}

/*
 * Returns an address in the usual distance from others, but some at odd ones. Those at odd multiples of 8 have a part of
 * the table of their own, which only some sessions have, because readers read all of it.
 */
static uint64_t address_of(const struct filling *filling, uint64_t i)
{
	uint64_t odd = i % 10 == 9 ? 5 : i % 10 == 7 && filling->kind & FUZZ_SESSION_STEPS ? 8 : 0;

	return FUZZ_SESSION_HEAP + i * 128 + odd;
}

static uint64_t size_of(struct filling *filling, uint64_t i)
{
	return i % 30 == 29 ? 5ull << 20 : i % 7 == 3 ? 100 : i % 13 == 5 ? 3000 : next(filling) % 64;
}

static void add_events(struct filling *filling)
{
	struct mf_store *store = filling->store;

	for (uint64_t i = 0; i < EVENTS; i++) {
		uint32_t thread = (uint32_t)(i % THREADS);

		allocate(filling, thread, address_of(filling, i), size_of(filling, i));
		if (i % 3)
			release(filling, (uint32_t)(i % 5 % THREADS), address_of(filling, i / 2));
		if (i % 11 == 0)
			shrink(filling, thread, address_of(filling, i));
		if (i % 20 == 0) {
			begin(filling, thread);
			mf_stacks_change(store, 4096 * (i % 40 ? -1 : 3), 0);
			mf_tally_grant(store);
		}
	}
}

/* How the profile was started, in the format of ctl/heap/origin.c: directory, address, command, options. */
static void add_origin(struct filling *filling)
{
	static const char words[] = "/home\0/run/socket\0program argument\0--depth=5\0--stats=yes";
	const uint32_t head[2] = { sizeof(words), 5 };

	memcpy(filling->store->regions[MF_REGION_ORIGIN], head, sizeof(head));
	memcpy((char *)filling->store->regions[MF_REGION_ORIGIN] + sizeof(head), words, sizeof(words));
}

static void fill(struct filling *filling)
{
	const struct mf_model_options options = {
		.peak_inaccuracy = 1,
		.max_snapshots = 10,
		.detailed_freq = 2,
		.time_unit = filling->kind & FUZZ_SESSION_MS ? MF_TIME_MS : MF_TIME_BYTES,
		.heap_admin = 8,
		.alignment = 16,
		.logs_steps = filling->kind & FUZZ_SESSION_STEPS ? MF_LOG_FILTERING : MF_LOG_NOTHING,
	};
	struct mf_store_header *header = filling->store->header;

	mf_model_init(filling->store, &options);
	if (filling->kind & FUZZ_SESSION_MS)
		mf_blocks_set_distance(filling->store, 32);
	header->pid = 100;
	header->first_time_ns = 1;
	header->keeps_ledger = !!(filling->kind & FUZZ_SESSION_LEDGER);
	header->separates_threads = !!(filling->kind & FUZZ_SESSION_THREADS);
	header->counts_threads = !header->separates_threads;
	header->snapshot_due = 0;
	header->resident = 3 * PAGE;
	header->resident_most = PAGE;
	mf_own_ranges_note(header, FUZZ_SESSION_HEAP + 2 * PAGE, FUZZ_SESSION_HEAP + 3 * PAGE);
	mf_own_ranges_note(header, FUZZ_SESSION_HEAP + 16 * PAGE, FUZZ_SESSION_HEAP + 20 * PAGE);
	mf_model_attempt(filling->store, 0);
	add_origin(filling);
	add_objects(filling);
	add_threads(filling);
	add_events(filling);
	if (filling->kind & FUZZ_SESSION_STEPS)
		mf_log_capture(filling->store, "operator new(unsigned long)", MF_CONTEXT_FIRST);
	if (filling->kind & FUZZ_SESSION_MS)
		mf_tally_of(filling->store, 0)->delayed_free = address_of(filling, EVENTS - 1);
}

/* Adds the pages that a region has between @start and @end. */
static void add_part(struct fuzz_session *session, int region, uint64_t start, uint64_t end)
{
	const uint8_t *from = session->store.regions[region];
	size_t *n = &session->n_parts[region];
	struct fuzz_part *parts = reallocarray(session->parts[region], *n + 1, sizeof(*parts)), *part;
	uint64_t pages = end - start;

	while (end > start && !from[end - 1])
		end--;
	fuzz_require(parts);
	session->parts[region] = parts;
	part = &parts[(*n)++];
	*part = (struct fuzz_part){ .start = start, .size = end - start, .pages = pages, .bytes = malloc(end - start + 1) };
	fuzz_require(part->bytes);
	memcpy(part->bytes, from + start, part->size);
	session->used[region] += part->size;
}

static void find_parts(struct fuzz_session *session)
{
	for (int i = 0; i < MF_REGION_COUNT; i++) {
		off_t start = (off_t)session->store.offsets[i], end = start + (off_t)session->store.sizes[i], at = start;

		while (at < end && (at = lseek(session->memory, at, SEEK_DATA)) >= 0 && at < end) {
			off_t hole = lseek(session->memory, at, SEEK_HOLE);

			hole = hole < end ? hole : end;
			add_part(session, i, (uint64_t)(at - start), (uint64_t)(hole - start));
			at = hole;
		}
	}
}

void fuzz_session_spread(struct mf_store *store)
{
	for (int i = 0; i < MF_REGION_COUNT; i++) {
		uint64_t size = (store->sizes[i] + PAGE - 1) & ~(PAGE - 1);
		char *room;

		if (!store->regions[i])
			continue;
		room = mmap(NULL, size + 2 * GAP, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		fuzz_require(room != MAP_FAILED);
		store->regions[i] = mremap(store->regions[i], size, size, MREMAP_MAYMOVE | MREMAP_FIXED, room + GAP);
		fuzz_require(store->regions[i] == room + GAP);
	}
	store->header = store->regions[MF_REGION_HEADER];
}

void fuzz_session_detach(struct mf_store *store)
{
	for (int i = 0; i < MF_REGION_COUNT; i++) {
		uint64_t size = (store->sizes[i] + PAGE - 1) & ~(PAGE - 1);

		if (store->regions[i])
			munmap((char *)store->regions[i] - GAP, size + 2 * GAP);
	}
	memset(store, 0, sizeof(*store));
}

static struct fuzz_session *create(unsigned int kind)
{
	struct fuzz_session *session = calloc(1, sizeof(*session));
	struct mf_store store;
	struct filling filling = { .store = &store, .kind = kind, .random = 31 };
	struct stat status;
	struct mf_error err;
	int ret;

	fuzz_require(session);
	ret = kind & FUZZ_SESSION_DETAILS ? mf_store_create_detailed(&store, BUDGET, &session->memory, &err) :
					    mf_store_create(&store, BUDGET, &session->memory, &err);
	fuzz_require(!ret);
	fill(&filling);
	mf_store_detach(&store);
	fuzz_require(!mf_store_attach(&session->store, session->memory, &err));
	fuzz_session_spread(&session->store);
	find_parts(session);
	fuzz_require(!fstat(session->memory, &status));
	session->blocks = status.st_blocks;
	return session;
}

struct fuzz_session *fuzz_session_of(unsigned int kind)
{
	static struct fuzz_session *sessions[FUZZ_SESSION_KINDS];

	kind %= FUZZ_SESSION_KINDS;
	if (!sessions[kind])
		sessions[kind] = create(kind);
	return sessions[kind];
}
