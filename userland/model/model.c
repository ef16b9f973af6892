// SPDX-License-Identifier: GPL-2.0
// The Massif model: which snapshots are taken, kept and culled.

#include "model/model.h"

#include <string.h>

#include "tree_version.h"
#include "model/tolerance.h"

#define NO_SLOT UINT32_MAX

#define VIEW_TRIES 10000u

/*
 * Layout of the word that publishes the list of kept snapshots: bit 0 says which of the two lists is valid, bits 8 to
 * 23 are its length, and bits 32 and up are the number of the peak's slot + 1.
 */
static uint64_t pack(uint32_t which, uint32_t count, uint32_t peak)
{
	return which | (uint64_t)count << 8 | (uint64_t)(peak + 1) << 32;
}

static uint32_t which_of(uint64_t published)
{
	return published & 1;
}

static uint32_t count_of(uint64_t published)
{
	return (uint32_t)(published >> 8) & 0xffff;
}

static uint32_t peak_of(uint64_t published)
{
	return (uint32_t)(published >> 32) - 1;
}

static void publish(struct mf_model *model, uint32_t which, uint32_t count, uint32_t peak)
{
	__atomic_store_n(&model->published, pack(which, count, peak), __ATOMIC_RELEASE);
}

void mf_model_init(struct mf_store *store, const struct mf_model_options *options)
{
	struct mf_model *model = mf_model_of(store);

	memset(model, 0, sizeof(*model));
	model->options = *options;
	store->header->logs_steps = options->logs_steps;
	store->header->snapshot_due = options->time_unit == MF_TIME_MS;
	publish(model, 0, 0, NO_SLOT);
}

/*
 * Adds the entry @step, which concerns the snapshot in @slot, to the model's log. Fills in the entry's kind (@kind), a
 * copy of the snapshot's data, and @number, the snapshot's index among the snapshots that are kept.
 */
static void log_snapshot(struct mf_store *store, enum mf_step_kind kind, uint32_t slot,
			 uint32_t number, uint32_t peak, struct mf_step step)
{
	const struct mf_snapshot *snapshot = &mf_model_of(store)->slots[slot];

	if (__builtin_expect(!store->header->logs_steps, 1))
		return;
	step.kind = (uint8_t)kind;
	step.mark = slot == peak ? 'p' : snapshot->capture ? 'd' : '.';
	step.number = number;
	step.time = snapshot->time;
	step.heap = snapshot->heap;
	step.extra = snapshot->extra;
	step.stacks = snapshot->stacks;
	mf_log_add(store, &step);
}

static void log_step(struct mf_store *store, struct mf_step step)
{
	if (__builtin_expect(store->header->logs_steps, 0))
		mf_log_add(store, &step);
}

/*
 * A snapshot's span is the time between its two neighbours. A knockout tournament finds the snapshot with the smallest
 * span. Entry n of winners[] is the winner between entries 2n and 2n + 1, or the earlier of the two in a tie; entries
 * @size and up are the snapshots themselves.
 */
static void play(struct mf_model *model, uint32_t n)
{
	uint16_t left = model->winners[2 * n], right = model->winners[2 * n + 1];

	model->winners[n] = model->spans[right] < model->spans[left] ? right : left;
}

static void play_all(struct mf_model *model, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++)
		model->winners[size + i] = (uint16_t)i;
	for (uint32_t n = size - 1; n; n--)
		play(model, n);
}

/*
 * Sets the span of snapshot @i (the time between its neighbours), and replays the matches of @i in the tournament,
 * which finds the snapshot with the smallest span. The current winner is kept in a variable, so that each match has to
 * read only the opponent's span.
 */
static void change_span(struct mf_model *model, uint32_t size, uint32_t i, int64_t span)
{
	uint32_t winner = i;

	model->spans[i] = span;
	for (uint32_t n = size + i; n > 1; n /= 2) {
		uint32_t other = model->winners[n ^ 1];
		int64_t its = model->spans[other];
		bool loses = (n % 2 && its == span) | (its < span);

		/* Use conditional expressions instead of a branch, which the processor could not predict. */
		winner = loses ? other : winner;
		span = loses ? its : span;
		model->winners[n / 2] = (uint16_t)winner;
	}
}

/* Returns the time between the two neighbours of snapshot @i, or INT64_MAX if that snapshot must be kept. */
static int64_t span_of(const struct mf_model *model, const uint16_t *order, uint32_t count,
		       uint32_t peak, uint32_t i)
{
	if (i == 0 || i == count - 1 || order[i] == peak)
		return INT64_MAX;
	return model->slots[order[model->next[i]]].time -
	       model->slots[order[model->previous[i]]].time;
}

/*
 * Chooses which snapshots to keep. There are half as many rounds as snapshots. Each round removes the snapshot whose
 * neighbours are closest to each other in time (the earliest such snapshot in a tie), but never the first, the last or
 * the peak. Writes the survivors to @kept and returns their number.
 */
static uint32_t choose_survivors(struct mf_store *store, const uint16_t *order, uint32_t count,
				 uint32_t peak, uint16_t *kept)
{
	struct mf_model *model = mf_model_of(store);
	uint16_t *previous = model->previous, *next = model->next;
	uint32_t n = 0, size = 2;

	while (size < count)
		size *= 2;
	for (uint32_t i = 0; i < count; i++) {
		previous[i] = (uint16_t)(i ? i - 1 : 0);
		next[i] = (uint16_t)(i + 1);
	}
	for (uint32_t i = 0; i < size; i++)
		model->spans[i] =
			i < count ? span_of(model, order, count, peak, i) : INT64_MAX;
	play_all(model, size);
	for (uint32_t round = 0; round < count / 2; round++) {
		uint32_t victim = model->winners[1], before = previous[victim];
		uint32_t after = next[victim];

		if (model->spans[victim] == INT64_MAX)
			break;
		log_snapshot(store, MF_STEP_VICTIM, order[victim], victim, peak,
			     (struct mf_step){ .count = round, .span = model->spans[victim] });
		next[before] = (uint16_t)after;
		previous[after] = (uint16_t)before;
		change_span(model, size, victim, INT64_MAX);
		change_span(model, size, before, span_of(model, order, count, peak, before));
		change_span(model, size, after, span_of(model, order, count, peak, after));
	}
	for (uint32_t i = 0; i < count; i = next[i])
		kept[n++] = order[i];
	return n;
}

/*
 * Returns the new interval between snapshots: the shortest time between two neighbours. Ignores pairs in which both
 * snapshots are exempt from culling, as the first, the last and the peak are.
 */
static int64_t least_interval(struct mf_store *store, const uint16_t *order, uint32_t count,
			      uint32_t peak, uint32_t *where)
{
	const struct mf_model *model = mf_model_of(store);
	int64_t least = INT64_MAX;

	for (uint32_t i = 1; i < count; i++) {
		bool fixed_left = i - 1 == 0 || order[i - 1] == peak;
		bool fixed_right = i == count - 1 || order[i] == peak;
		int64_t span = model->slots[order[i]].time - model->slots[order[i - 1]].time;

		if (fixed_left && fixed_right) {
			log_step(store, (struct mf_step){ .kind = MF_STEP_PAIR_SKIPPED,
							  .number = i });
		} else if (span < least) {
			least = span;
			*where = i;
		}
	}
	return least;
}

/* Removes half of the snapshots and increases the interval between later ones. */
static void cull(struct mf_store *store)
{
	struct mf_model *model = mf_model_of(store);
	uint32_t which = which_of(model->published), peak = peak_of(model->published);
	uint32_t count = count_of(model->published), kept, where = 0;
	const uint16_t *order = model->order[which];
	uint16_t *survivors = model->order[!which];
	int64_t interval;

	log_step(store, (struct mf_step){ .kind = MF_STEP_CULLING });
	kept = choose_survivors(store, order, count, peak, survivors);
	interval = least_interval(store, survivors, kept, peak, &where);
	if (interval < model->options.least_interval)
		interval = model->options.least_interval;
	model->interval = (uint32_t)interval;
	log_step(store, (struct mf_step){ .kind = MF_STEP_CULLED, .number = count - kept,
					  .count = count });
	for (uint32_t i = 0; i < kept; i++)
		log_snapshot(store, MF_STEP_SURVIVOR, survivors[i], i, peak,
			     (struct mf_step){ 0 });
	log_step(store, (struct mf_step){ .kind = MF_STEP_INTERVAL, .number = where,
					  .span = interval });
	model->cullings++;
	publish(model, !which, kept, peak);

	/* The slots of the removed snapshots may be reused only after the new list has been published. */
	memset(model->survives, 0, sizeof(model->survives));
	for (uint32_t i = 0; i < kept; i++)
		model->survives[survivors[i]] = 1;
	for (uint32_t i = 0; i < count; i++) {
		struct mf_snapshot *slot = &model->slots[order[i]];

		if (model->survives[order[i]])
			continue;
		slot->capture = 0;
		model->slot_used[order[i]] = 0;
	}
}

/* Returns a free slot. Culling keeps fewer than max_snapshots, so one of the first max_snapshots slots is free. */
static uint32_t free_slot(struct mf_model *model)
{
	uint32_t n = model->options.max_snapshots, i = model->free_slot;

	if (n > MF_SNAPSHOTS_MAX)
		n = MF_SNAPSHOTS_MAX;
	for (uint32_t tries = 0; tries < n; tries++, i++) {
		if (i >= n)
			i = 0;
		if (!model->slot_used[i]) {
			model->free_slot = i + 1;
			return i;
		}
	}
	return NO_SLOT;
}

/* Adds a snapshot of the current totals. @capture is its tree version, or 0 if it has no tree. */
static void keep(struct mf_store *store, enum mf_occasion occasion, int64_t time, uint64_t capture,
		 bool detailed, bool is_peak)
{
	struct mf_model *model = mf_model_of(store);
	uint32_t which = which_of(model->published), peak = peak_of(model->published);
	uint32_t count = count_of(model->published);
	uint32_t slot = free_slot(model);

	if (slot == NO_SLOT)
		return;
	model->slot_used[slot] = 1;
	model->slots[slot] = (struct mf_snapshot){
		.time = time,
		.heap = model->heap,
		.extra = model->extra,
		.stacks = model->stacks,
		.capture = capture,
	};
	model->order[which][count] = (uint16_t)slot;
	publish(model, which, count + 1, is_peak ? slot : peak);
	log_snapshot(store, MF_STEP_SNAPSHOT, slot, count, is_peak ? slot : peak,
		     (struct mf_step){
			     .occasion = (uint8_t)occasion,
			     .count = model->skipped_snapshots - model->skipped_before,
		     });
	model->skipped_before = model->skipped_snapshots;

	model->real_snapshots++;
	model->detailed_snapshots += detailed;
	model->peak_snapshots += is_peak;
	model->since_detailed = detailed ? 0 : model->since_detailed + 1;
	if (count + 1 >= model->options.max_snapshots)
		cull(store);
	model->next_allowed = time + model->interval;
}

static void take(struct mf_store *store, enum mf_occasion occasion, int64_t time, bool detailed,
		 bool is_peak)
{
	bool has_tree = detailed && !mf_model_of(store)->options.no_trees;

	keep(store, occasion, time, has_tree ? mf_tree_version_take(store) : 0, detailed, is_peak);
}

void mf_model_attempt_on(struct mf_store *store, enum mf_occasion occasion, int64_t now)
{
	struct mf_model *model = mf_model_of(store);
	int64_t time = mf_model_time(model, now);

	if (time < model->next_allowed) {
		model->skipped_snapshots++;
		return;
	}
	take(store, occasion, time, model->since_detailed == model->options.detailed_freq - 1, false);
}

void mf_model_take(struct mf_store *store, int64_t now)
{
	take(store, MF_OCCASION_REQUEST, mf_model_time(mf_model_of(store), now), true, false);
}

uint64_t mf_model_peak_threshold(const struct mf_model *model)
{
	return model->peak_total +
	       mf_tolerance_bytes(model->peak_total, &model->options.peak_inaccuracy);
}

static uint64_t total_of(const struct mf_model *model)
{
	return model->heap + model->extra + model->stacks;
}

static bool is_peak_now(const struct mf_model *model)
{
	return total_of(model) > mf_model_peak_threshold(model);
}

void mf_model_check_peak_on(struct mf_store *store, enum mf_occasion occasion, int64_t now)
{
	struct mf_model *model = mf_model_of(store);

	if (!is_peak_now(model))
		return;
	model->peak_total = total_of(model);
	take(store, occasion, mf_model_time(model, now), true, true);
}

uint32_t mf_model_captures(struct mf_store *store, const uint64_t **captures)
{
	struct mf_model *model = mf_model_of(store);
	uint32_t which = which_of(model->published), n = 0;

	for (uint32_t i = 0; i < count_of(model->published); i++) {
		uint64_t capture = model->slots[model->order[which][i]].capture;

		if (capture)
			model->captures[n++] = capture;
	}
	*captures = model->captures;
	return n;
}

bool mf_model_drop_trees(struct mf_store *store)
{
	struct mf_model *model = mf_model_of(store);
	uint32_t which = which_of(model->published), peak = peak_of(model->published);
	uint32_t others = 0, dropped = 0;

	for (uint32_t i = 0; i < count_of(model->published); i++) {
		uint32_t slot = model->order[which][i];

		if (!model->slots[slot].capture || slot == peak || others++ % 2)
			continue;
		model->slots[slot].capture = 0;
		dropped++;
	}
	if (dropped || peak == NO_SLOT || !model->slots[peak].capture)
		return dropped;
	model->slots[peak].capture = 0;
	return true;
}

static uint32_t view_once(const struct mf_model *model, uint64_t published,
			  struct mf_snapshot_view *views)
{
	uint32_t count = count_of(published), n = 0;

	for (uint32_t i = 0; i < count && i < MF_SNAPSHOTS_MAX; i++) {
		uint32_t slot = model->order[which_of(published)][i];

		if (slot >= MF_SNAPSHOTS_MAX)
			continue;
		views[n].snapshot = model->slots[slot];
		views[n].tree = !views[n].snapshot.capture ? MF_TREE_EMPTY :
				slot == peak_of(published) ? MF_TREE_PEAK :
							     MF_TREE_DETAILED;
		views[n].is_peak = slot == peak_of(published);
		n++;
	}
	return n;
}

/* Returns a number that changes with each snapshot and each culling. */
static uint64_t generation_of(const struct mf_model *model, uint64_t published)
{
	return published + ((uint64_t)__atomic_load_n(&model->real_snapshots, __ATOMIC_ACQUIRE) << 16);
}

uint32_t mf_model_view(const struct mf_store *store, struct mf_snapshot_view *views)
{
	const struct mf_model *model = mf_model_of(store);
	uint64_t published, before;
	uint32_t n, tries = 0;

	/*
	 * If a slot was overwritten while it was being copied, copy again. The writer cannot overwrite slots fast
	 * enough to interfere every time.
	 */
	do {
		published = __atomic_load_n(&model->published, __ATOMIC_ACQUIRE);
		before = generation_of(model, published);
		n = view_once(model, published, views);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		published = __atomic_load_n(&model->published, __ATOMIC_ACQUIRE);
	} while (before != generation_of(model, published) && ++tries < VIEW_TRIES);
	return n;
}

/*
 * Fills the model in @copy with the @n snapshots of @views. If its list of snapshots is then full, culls it, so that
 * one more snapshot can be taken.
 */
static void take_over(struct mf_store *copy, const struct mf_snapshot_view *views, uint32_t n)
{
	struct mf_model *model = mf_model_of(copy);
	uint32_t peak = NO_SLOT;

	if (n > model->options.max_snapshots)
		n = model->options.max_snapshots;
	for (uint32_t i = 0; i < n; i++) {
		model->slots[i] = views[i].snapshot;
		model->slot_used[i] = 1;
		model->order[0][i] = (uint16_t)i;
		if (views[i].is_peak)
			peak = i;
	}
	publish(model, 0, n, peak);
	/*
	 * The list of snapshots is full if the program was killed after taking a snapshot but before the culling that
	 * follows.
	 */
	if (n == model->options.max_snapshots)
		cull(copy);
}

/* Returns whether the last snapshot is detailed and was not taken before @time. */
static bool ends_with_tree(const struct mf_model *model, int64_t time)
{
	uint32_t count = count_of(model->published);
	const struct mf_snapshot *last;

	if (!count)
		return false;
	last = &model->slots[model->order[which_of(model->published)][count - 1]];
	return last->capture && last->time >= time;
}

static bool starts_detailed(const struct mf_model *model)
{
	return model->since_detailed == model->options.detailed_freq - 1;
}

void mf_model_end(struct mf_store *copy, const struct mf_snapshot_view *views, uint32_t n,
		  enum mf_end_rule rule, int64_t time)
{
	struct mf_model *model = mf_model_of(copy);
	uint64_t capture = model->options.no_trees ? 0 : MF_CAPTURE_PRESENT;

	take_over(copy, views, n);
	if (n && time < views[n - 1].snapshot.time)
		time = views[n - 1].snapshot.time;
	if (rule == MF_END_NOTHING) {
		/* The shim has not come to the snapshot of the beginning. */
		if (!n)
			keep(copy, MF_OCCASION_START, 0, starts_detailed(model) ? capture : 0, starts_detailed(model), false);
		return;
	}
	if (is_peak_now(model)) {
		model->peak_total = total_of(model);
		keep(copy, MF_OCCASION_PEAK_AT_END, time, capture, true, true);
	} else if (rule == MF_END_TREE && !ends_with_tree(model, time)) {
		keep(copy, MF_OCCASION_END, time, capture, true, false);
	}
}
