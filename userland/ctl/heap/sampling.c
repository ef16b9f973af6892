// SPDX-License-Identifier: GPL-2.0
// Takes samples of the resident set of a process that is profiled in heap mode (--rss).

#include "process.h"

#include <errno.h>

#include "ctl/heap/touch_session.h"
#include "model/model.h"
#include "model/tally.h"

/*
 * massif.ko counts the resident set all the time, so a sample can be taken as soon as the resident set exceeds that of the
 * largest sample:
 *
 * - by 1/TOLERANCE, if the pause that the sampler makes after a sample (struct mf_sampler.rested_ms) is over;
 * - by 1/GREAT_INCREASE and GREAT_BYTES, even during that pause. Such samples are rare: each is of a resident set at least a
 *   quarter larger than the one before, so all of them together take at most five times as long as the last one. GREAT_BYTES
 *   leaves out the start of a program, when the resident set is small and grows by large factors.
 */
#define TOLERANCE      100u
#define GREAT_INCREASE 4u
#define GREAT_BYTES    (4ull << 20)

static bool is_sampled(const struct mf_heap_process *process)
{
	return process->options->rss && !process->source && !process->ended && process->pid && !process->cannot_sample &&
	       __atomic_load_n(&process->store.header->pid, __ATOMIC_ACQUIRE);
}

/* Returns the time of the newest snapshot that has a tree; 0 if there is none. */
static int64_t last_snapshot_time(const struct mf_store *store)
{
	static struct mf_snapshot_view views[MF_SNAPSHOTS_MAX];
	uint32_t n = mf_model_view(store, views);

	while (n && views[n - 1].tree == MF_TREE_EMPTY)
		n--;
	return n ? views[n - 1].snapshot.time : 0;
}

/* Returns whether the profile has got detailed snapshots or peaks since the last call: MF_SAMPLE_... */
static uint32_t new_snapshots(struct mf_heap_process *process)
{
	const struct mf_model *model = mf_model_of(&process->store);
	uint32_t detailed = model->detailed_snapshots, peaks = model->peak_snapshots;
	uint32_t reasons = (detailed != process->n_detailed_seen ? MF_SAMPLE_DETAILED : 0) |
			   (peaks != process->n_peaks_seen ? MF_SAMPLE_PEAK : 0);

	process->n_detailed_seen = detailed;
	process->n_peaks_seen = peaks;
	return reasons;
}

/* Notes the last sample in the session memory, where massif-ctl top finds it. */
static void note_sample(const struct mf_heap_process *process)
{
	const struct mf_residency_sample *sample = &process->sampler.residency.last.sample;
	struct mf_store_header *header = process->store.header;
	uint32_t most = 0;

	for (uint32_t i = 0; i < MF_BANDS; i++)
		if (sample->bands[i] > sample->bands[most])
			most = i;
	__atomic_store_n(&header->resident_band, most, __ATOMIC_RELAXED);
	__atomic_store_n(&header->resident_most, sample->bands[most], __ATOMIC_RELAXED);
	__atomic_store_n(&header->resident, mf_residency_rss(sample), __ATOMIC_RELEASE);
}

static void sample(struct mf_heap_process *process, uint32_t reasons)
{
	const struct mf_store *store = &process->store;
	struct mf_sample_at at = { .time_ms = (uint64_t)mf_heap_process_age_ms(process), .reasons = reasons };
	struct mf_touch_source touches;
	struct mf_error err;
	int code;

	mf_touch_session_look(process->options->touches);
	if (mf_touch_session_source(process->options->touches, process->pid, &touches)) {
		at.touches = &touches;
		process->touched_since_ns = mf_touch_session_find(process->options->touches, process->pid)->start_ns;
	}
	at.time = mf_tally_look(store, mf_heap_process_time(process)).time;
	at.of = reasons & (MF_SAMPLE_DETAILED | MF_SAMPLE_PEAK) ? last_snapshot_time(store) : at.time;
	code = mf_sampler_take(&process->sampler, process->pid, store, process->memory, at, &err);
	/* If the process has just ended, the last sample is the one before. */
	process->cannot_sample = code && code != -EAGAIN;
	if (!code)
		note_sample(process);
	if (process->sampler.rested_ms > at.time_ms)
		mf_sample_watch_rest(&process->sample_watch, process->sampler.rested_ms - at.time_ms);
	if (process->cannot_sample && code != -ESRCH && code != -ENOENT)
		mf_heap_process_complain(process, "its resident set is not sampled: %s", err.text);
}

/* Returns whether massif.ko has counted a resident set that is so much larger than that of the largest sample. */
static bool is_above_peak(const struct mf_heap_process *process, bool has_rested)
{
	uint64_t peak = mf_residency_rss(&process->sampler.residency.peak.sample);
	uint64_t increase = has_rested ? peak / TOLERANCE : peak / GREAT_INCREASE + GREAT_BYTES;
	struct mf_touch_source touches;

	return mf_touch_session_source(process->options->touches, process->pid, &touches) &&
	       touches.resident(touches.data) > peak + increase;
}

int mf_heap_process_sample(struct mf_heap_process *process)
{
	uint32_t reasons = 0;
	bool has_end = process->sample_watch.started && mf_sample_watch_has_end(&process->store);
	uint64_t now;

	if (!is_sampled(process)) {
		/* The process does not have to wait for a sample that cannot be taken. */
		if (has_end)
			mf_sample_watch_answer(&process->store);
		return -1;
	}
	now = (uint64_t)mf_heap_process_age_ms(process);
	if (has_end)
		reasons = MF_SAMPLE_END;
	if (now >= process->sampler.next_ms)
		reasons |= MF_SAMPLE_PERIODIC;
	if (reasons || now >= process->sampler.rested_ms)
		reasons |= new_snapshots(process);
	if (!reasons && is_above_peak(process, now >= process->sampler.rested_ms))
		reasons = MF_SAMPLE_PERIODIC;
	if (reasons)
		sample(process, reasons);
	if (has_end)
		mf_sample_watch_answer(&process->store);
	return process->cannot_sample ? -1 : process->sampler.next_ms > now ? (int)(process->sampler.next_ms - now) : 0;
}

void mf_heap_process_request_sample(struct mf_heap_process *process)
{
	if (is_sampled(process))
		sample(process, MF_SAMPLE_REQUEST);
}
