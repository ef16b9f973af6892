// SPDX-License-Identifier: GPL-2.0
// A second implementation of the heap model, with plain arrays.

#include "selftests/lib/model_oracle.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/blocks.h"
#include "model/rewind.h"
#include "model/trie.h"

static const char *differ(const char *format, ...)
{
	static char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return text;
}

/* splitmix64 with its published constants. */
uint64_t oracle_random(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

uint64_t oracle_below(uint64_t *seed, uint64_t limit)
{
	return oracle_random(seed) % limit;
}

void oracle_init(struct oracle *oracle, const struct mf_model_options *options)
{
	memset(oracle, 0, sizeof(*oracle));
	oracle->options = *options;
}

static bool fixed(const struct oracle *oracle, int i)
{
	return i == 0 || i == oracle->n_snapshots - 1 || oracle->snapshots[i].peak;
}

static void cull(struct oracle *oracle)
{
	struct oracle_snapshot *s = oracle->snapshots;
	int64_t least = INT64_MAX;

	for (uint32_t round = 0; round < oracle->options.max_snapshots / 2; round++) {
		int victim = -1;

		for (int i = 0; i < oracle->n_snapshots; i++) {
			if (fixed(oracle, i))
				continue;
			if (victim < 0 || s[i + 1].time - s[i - 1].time <
						  s[victim + 1].time - s[victim - 1].time)
				victim = i;
		}
		if (victim < 0)
			break;
		oracle->n_snapshots--;
		memmove(&s[victim], &s[victim + 1],
			(size_t)(oracle->n_snapshots - victim) * sizeof(*s));
	}
	for (int i = 0; i + 1 < oracle->n_snapshots; i++) {
		if (fixed(oracle, i) && fixed(oracle, i + 1))
			continue;
		if (s[i + 1].time - s[i].time < least)
			least = s[i + 1].time - s[i].time;
	}
	oracle->interval = (uint32_t)(least & 0xffffffff);
	oracle->cullings++;
}

static void take(struct oracle *oracle, int64_t time, bool detailed, bool peak)
{
	struct oracle_snapshot *s = &oracle->snapshots[oracle->n_snapshots];

	if (peak)
		for (int i = 0; i < oracle->n_snapshots; i++)
			oracle->snapshots[i].peak = false;
	*s = (struct oracle_snapshot){
		.time = time,
		.heap = oracle->heap,
		.extra = oracle->extra,
		.stacks = oracle->stacks,
		.detailed = detailed,
		.peak = peak,
		.n_leaves = detailed ? oracle->n_contexts : 0,
	};
	if (detailed)
		memcpy(s->leaves, oracle->bytes, sizeof(s->leaves));
	oracle->n_snapshots++;
	oracle->since_detailed = detailed ? 0 : oracle->since_detailed + 1;
	if (oracle->n_snapshots == (int)oracle->options.max_snapshots)
		cull(oracle);
	oracle->next_allowed = time + oracle->interval;
}

static int64_t time_of(const struct oracle *oracle, int64_t now)
{
	return oracle->options.time_unit == MF_TIME_BYTES ? (int64_t)oracle->clock : now;
}

void oracle_attempt(struct oracle *oracle, int64_t now)
{
	int64_t time = time_of(oracle, now);

	if (time < oracle->next_allowed) {
		oracle->skipped++;
		return;
	}
	take(oracle, time, oracle->since_detailed + 1 == oracle->options.detailed_freq, false);
}

void oracle_check_peak(struct oracle *oracle, int64_t now)
{
	uint64_t total = oracle->heap + oracle->extra + oracle->stacks;
	double more = (double)oracle->peak_total * oracle->options.peak_inaccuracy / 100;

	if (total <= oracle->peak_total + (uint64_t)more)
		return;
	oracle->peak_total = total;
	take(oracle, time_of(oracle, now), true, true);
}

static uint64_t capacity_of(const struct oracle *oracle, uint64_t size)
{
	uint64_t granule = oracle->options.alignment, capacity = size;

	if (capacity % granule)
		capacity += granule - capacity % granule;
	if (capacity > 4194240 && (capacity + 64) % 4096)
		capacity += 4096 - (capacity + 64) % 4096;
	return capacity;
}

static void change(struct oracle *oracle, const struct oracle_block *before,
		   const struct oracle_block *after)
{
	int64_t heap = 0, extra = 0;

	if (before) {
		heap -= (int64_t)before->size;
		extra -= (int64_t)(oracle->options.heap_admin + before->capacity - before->size);
		oracle->bytes[before->context] -= before->size;
	}
	if (after) {
		heap += (int64_t)after->size;
		extra += (int64_t)(oracle->options.heap_admin + after->capacity - after->size);
		oracle->bytes[after->context] += after->size;
	}
	oracle->heap += (uint64_t)heap;
	oracle->extra += (uint64_t)extra;
	oracle->clock += (uint64_t)(heap + extra < 0 ? -(heap + extra) : heap + extra);
}

static void enter(struct oracle *oracle, const struct oracle_block *block)
{
	oracle->blocks[oracle->n_blocks++] = *block;
}

struct oracle_block *oracle_find(struct oracle *oracle, uint64_t address)
{
	for (int i = oracle->n_blocks - 1; i >= 0; i--)
		if (oracle->blocks[i].address == address)
			return &oracle->blocks[i];
	return NULL;
}

bool oracle_take(struct oracle *oracle, uint64_t address, struct oracle_block *block)
{
	struct oracle_block *found = oracle_find(oracle, address);

	if (!found)
		return false;
	*block = *found;
	oracle->n_blocks--;
	memmove(found, found + 1,
		(size_t)(&oracle->blocks[oracle->n_blocks] - found) * sizeof(*found));
	return true;
}

void oracle_alloc(struct oracle *oracle, uint64_t address, uint64_t size, int context, int64_t now)
{
	struct oracle_block block = { address, size, capacity_of(oracle, size), context };

	enter(oracle, &block);
	if (context == ORACLE_IGNORED)
		return;
	change(oracle, NULL, &block);
	oracle_attempt(oracle, now);
}

void oracle_free(struct oracle *oracle, uint64_t address, int64_t now)
{
	struct oracle_block block;

	if (!oracle_take(oracle, address, &block) || block.context == ORACLE_IGNORED)
		return;
	oracle_check_peak(oracle, now);
	change(oracle, &block, NULL);
	oracle_attempt(oracle, now);
}

void oracle_realloc_end(struct oracle *oracle, const struct oracle_block *old, uint64_t address,
			uint64_t size, int context, int64_t now)
{
	struct oracle_block block = { address, size, old->capacity, context };
	bool was_counted = old->context != ORACLE_IGNORED, is_counted = context != ORACLE_IGNORED;

	if (size > old->capacity)
		block.capacity = capacity_of(oracle, size);
	if (was_counted && size < old->size)
		oracle_check_peak(oracle, now);
	enter(oracle, &block);
	if (was_counted || is_counted)
		change(oracle, was_counted ? old : NULL, is_counted ? &block : NULL);
	if (is_counted)
		oracle_attempt(oracle, now);
}

void oracle_realloc_failed(struct oracle *oracle, const struct oracle_block *old)
{
	enter(oracle, old);
}

void oracle_change_stacks(struct oracle *oracle, int64_t change, int64_t now)
{
	if (change < 0)
		oracle_check_peak(oracle, now);
	oracle->stacks = (uint64_t)((int64_t)oracle->stacks + change);
	oracle->clock += (uint64_t)llabs(change);
	oracle_attempt(oracle, now);
}

const char *oracle_totals_differ(const struct oracle *oracle, const struct mf_store *store)
{
	const struct mf_model *model = mf_model_of(store);
	uint64_t bytes[ORACLE_CONTEXTS], sum = 0;

	if (model->heap != oracle->heap || model->extra != oracle->extra)
		return differ("heap %lu and extra %lu, not %lu and %lu", model->heap, model->extra,
			      oracle->heap, oracle->extra);
	if (model->stacks != oracle->stacks)
		return differ("stacks %lu, not %lu", model->stacks, oracle->stacks);
	/* If the time unit is milliseconds, the model does not maintain clock_bytes. */
	if (model->options.time_unit == MF_TIME_BYTES && model->clock_bytes != oracle->clock)
		return differ("clock %lu, not %lu", model->clock_bytes, oracle->clock);
	mf_trie_sum(store, MF_CONTEXT_FIRST, (uint32_t)oracle->n_contexts, bytes);
	for (int i = 0; i < oracle->n_contexts; i++) {
		if (bytes[i] != oracle->bytes[i])
			return differ("context %d: %lu bytes, not %lu", i, bytes[i],
				      oracle->bytes[i]);
		sum += oracle->bytes[i];
	}
	if (sum != oracle->heap)
		return differ("the contexts hold %lu bytes, the heap %lu", sum, oracle->heap);
	return NULL;
}

static const char *leaves_differ(const struct oracle_snapshot *s, struct mf_rewind *rewind,
				 uint64_t capture, int number)
{
	uint64_t leaves[ORACLE_CONTEXTS], sum = 0;
	uint32_t n = mf_rewind_to(rewind, capture, leaves, ORACLE_CONTEXTS);

	if (n != (uint32_t)s->n_leaves)
		return differ("snapshot %d: %u leaves, not %d", number, n, s->n_leaves);
	for (uint32_t i = 0; i < n; i++) {
		if (leaves[i] != s->leaves[i])
			return differ("snapshot %d, leaf %u: %lu, not %lu", number, i, leaves[i],
				      s->leaves[i]);
		sum += leaves[i];
	}
	if (sum != s->heap)
		return differ("snapshot %d: its tree holds %lu bytes of %lu", number, sum, s->heap);
	return NULL;
}

const char *oracle_snapshots_differ(const struct oracle *oracle, const struct mf_store *store)
{
	static struct mf_snapshot_view views[MF_SNAPSHOTS_MAX];
	static uint64_t cells[ORACLE_CONTEXTS * MF_SHARDS_MAX];
	const struct mf_model *model = mf_model_of(store);
	int n = (int)mf_model_view(store, views);
	struct mf_rewind rewind;

	if (mf_rewind_prepare(&rewind, store) > sizeof(cells) / sizeof(*cells))
		return differ("%u contexts", rewind.n_contexts);
	memset(cells, 0, sizeof(cells));
	mf_rewind_begin(&rewind, cells);

	if (n != oracle->n_snapshots)
		return differ("%d snapshots, not %d", n, oracle->n_snapshots);
	if (model->cullings != oracle->cullings || model->skipped_snapshots != oracle->skipped)
		return differ("%u cullings and %u skipped, not %u and %u", model->cullings,
			      model->skipped_snapshots, oracle->cullings, oracle->skipped);
	if (model->interval != oracle->interval)
		return differ("interval %u, not %u", model->interval, oracle->interval);
	for (int i = n - 1; i >= 0; i--) {
		const struct oracle_snapshot *s = &oracle->snapshots[i];
		const struct mf_snapshot *got = &views[i].snapshot;
		enum mf_tree_kind kind = s->peak     ? MF_TREE_PEAK :
					 s->detailed ? MF_TREE_DETAILED :
						       MF_TREE_EMPTY;
		const char *leaves;

		if (got->time != s->time || got->heap != s->heap || got->extra != s->extra ||
		    got->stacks != s->stacks)
			return differ("snapshot %d: %ld %lu %lu %lu, not %ld %lu %lu %lu", i,
				      got->time, got->heap, got->extra, got->stacks, s->time,
				      s->heap, s->extra, s->stacks);
		if (views[i].tree != kind)
			return differ("snapshot %d: tree %d, not %d", i, (int)views[i].tree,
				      (int)kind);
		leaves = s->detailed ? leaves_differ(s, &rewind, got->capture, i) : NULL;
		if (leaves)
			return leaves;
	}
	return NULL;
}

/*
 * State of a walk over the table of blocks, during which each block found is crossed off the list of expected blocks.
 */
struct crossing {
	const struct oracle *oracle;
	bool seen[ORACLE_BLOCKS];
	int n;
	uint64_t unknown;
};

static void cross_off(const struct mf_block *block, void *data)
{
	struct crossing *crossing = data;

	for (int i = 0; i < crossing->oracle->n_blocks; i++) {
		const struct oracle_block *known = &crossing->oracle->blocks[i];
		uint32_t context = known->context == ORACLE_IGNORED ?
					   MF_CONTEXT_IGNORED :
					   MF_CONTEXT_FIRST + (uint32_t)known->context;

		if (!crossing->seen[i] && known->address == block->address &&
		    known->size == block->size && known->capacity == block->capacity &&
		    context == block->context) {
			crossing->seen[i] = true;
			crossing->n++;
			return;
		}
	}
	crossing->unknown = block->address;
}

const char *oracle_blocks_differ(const struct oracle *oracle, const struct mf_store *store)
{
	struct crossing crossing = { .oracle = oracle };

	mf_blocks_walk(store, cross_off, &crossing);
	if (crossing.unknown)
		return differ("a block at %#lx that there is not", crossing.unknown);
	if (crossing.n != oracle->n_blocks)
		return differ("%d blocks, not %d", crossing.n, oracle->n_blocks);
	return NULL;
}
