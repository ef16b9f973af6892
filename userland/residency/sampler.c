// SPDX-License-Identifier: GPL-2.0
// Samples the resident set of a process that is profiled in heap mode, while it runs.

#include "residency/sampler.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>


/*
 * Samples may take one part in so many of a processor's time. Those on request and at the end do not wait until earlier ones
 * have been paid for, but later ones wait for longer.
 */
#define DUTY 100u
#define INTERVAL_MS 50u
#define MOMENT_INTERVAL_MS 250u /* between two periodic samples that are kept with their sites */

static int out_of_memory(struct mf_error *err)
{
	return mf_error_set(err, -ENOMEM, "out of memory");
}

/* Returns the processor time that this thread has used. */
static uint64_t used_us(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
}

/* Returns the largest resident set that the process has had (VmHWM), in bytes; 0 if it is not known. */
static uint64_t read_peak(pid_t pid)
{
	char path[32], line[128];
	uint64_t kib = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && !kib && fgets(line, sizeof(line), file))
		if (strncmp(line, "VmHWM:", strlen("VmHWM:")) == 0)
			kib = strtoull(line + strlen("VmHWM:"), NULL, 10);
	if (file)
		fclose(file);
	return kib * 1024;
}

static bool is_largest(const struct mf_residency *residency, size_t i)
{
	const struct mf_residency_sample *sample = &residency->samples[i], *peak = &residency->peak.sample;

	return sample->time_ms == peak->time_ms && mf_residency_rss(sample) == mf_residency_rss(peak);
}

/* Drops every second sample, but not the largest one: without it, the curve in a report would not show the peak. */
static void thin(struct mf_sampler *sampler)
{
	struct mf_residency *residency = &sampler->residency;
	bool has_largest = false;
	size_t n = 0;

	for (size_t i = 0; i < residency->n_samples; i++) {
		bool is_kept = !has_largest && is_largest(residency, i);

		has_largest |= is_kept;
		if (i % 2 == 0 || is_kept)
			residency->samples[n++] = residency->samples[i];
	}
	residency->n_samples = n;
	sampler->interval_ms *= 2;
}

static int keep(struct mf_sampler *sampler, const struct mf_residency_sample *sample)
{
	struct mf_residency *residency = &sampler->residency;

	if (!residency->samples) {
		residency->samples = calloc(2 * MF_SAMPLES_KEPT, sizeof(*residency->samples));
		if (!residency->samples)
			return -ENOMEM;
		sampler->interval_ms = INTERVAL_MS;
	}
	if (residency->n_samples == 2 * MF_SAMPLES_KEPT)
		thin(sampler);
	residency->samples[residency->n_samples++] = *sample;
	return 0;
}

/* Drops every second sample, but not the last one. */
static void thin_moments(struct mf_residency *residency)
{
	size_t n = 0;

	for (size_t i = 0; i < residency->n_moments; i++) {
		if (i % 2)
			residency->moments[n++] = residency->moments[i];
		else
			mf_residency_detail_deinit(&residency->moments[i]);
	}
	residency->n_moments = n;
}

static bool is_periodic(const struct mf_residency_detail *detail)
{
	return detail->sample.reasons == MF_SAMPLE_PERIODIC;
}

/* Are both the same sample, or for the same snapshot? The profile's time stands still while nothing is allocated. */
static bool is_same_moment(const struct mf_residency_detail *one, const struct mf_residency_detail *other)
{
	if (one->sample.reasons != other->sample.reasons)
		return false;
	return one->sample.reasons & (MF_SAMPLE_DETAILED | MF_SAMPLE_PEAK) ? one->of == other->of :
									     one->sample.time_ms == other->sample.time_ms;
}

int mf_sampler_keep_moment(struct mf_residency *residency, const struct mf_residency_detail *detail)
{
	const struct mf_residency_detail *last;
	int ret;

	if (!residency->moments)
		residency->moments = calloc(2 * MF_MOMENTS_KEPT, sizeof(*residency->moments));
	if (!residency->moments)
		return -ENOMEM;
	last = residency->n_moments ? &residency->moments[residency->n_moments - 1] : NULL;
	if (last && is_same_moment(last, detail))
		return 0;
	if (residency->n_moments == 2 * MF_MOMENTS_KEPT)
		thin_moments(residency);
	residency->moments[residency->n_moments] = (struct mf_residency_detail){ 0 };
	ret = mf_residency_detail_copy(&residency->moments[residency->n_moments], detail);
	residency->n_moments += !ret;
	return ret;
}

/* Drops every second of the periodic samples that have their sites. */
static void thin_periodic(struct mf_residency *residency)
{
	size_t n = 0, seen = 0;

	for (size_t i = 0; i < residency->n_moments; i++) {
		if (is_periodic(&residency->moments[i]) && seen++ % 2)
			mf_residency_detail_deinit(&residency->moments[i]);
		else
			residency->moments[n++] = residency->moments[i];
	}
	residency->n_moments = n;
}

/*
 * Keeps some of the periodic samples with their sites, at equal distances, so that there is one also for a time in which
 * nothing was allocated, and which has no snapshots.
 */
static int keep_periodic(struct mf_sampler *sampler, const struct mf_residency_detail *detail)
{
	struct mf_residency *residency = &sampler->residency;
	uint64_t now = detail->sample.time_ms;
	size_t n = 0;

	if (now < sampler->next_moment_ms)
		return 0;
	for (size_t i = 0; i < residency->n_moments; i++)
		n += is_periodic(&residency->moments[i]);
	if (!sampler->moment_interval_ms)
		sampler->moment_interval_ms = MOMENT_INTERVAL_MS;
	if (n >= 2 * MF_PERIODIC_MOMENTS_KEPT) {
		thin_periodic(residency);
		sampler->moment_interval_ms *= 2;
	}
	sampler->next_moment_ms = now + sampler->moment_interval_ms;
	return mf_sampler_keep_moment(residency, detail);
}

/*
 * Keeps samples that can be chosen later: at snapshots, on request, some of the periodic ones, and the last one before the
 * program's functions for its end have run, which often free everything.
 */
static int keep_choices(struct mf_sampler *sampler, const struct mf_residency_detail *detail)
{
	struct mf_residency *residency = &sampler->residency;

	if (detail->sample.reasons & (MF_SAMPLE_DETAILED | MF_SAMPLE_PEAK | MF_SAMPLE_REQUEST))
		return mf_sampler_keep_moment(residency, detail);
	if (is_periodic(detail))
		return keep_periodic(sampler, detail);
	return residency->n_samples > 1 && is_periodic(&residency->last) ?
		       mf_sampler_keep_moment(residency, &residency->last) : 0;
}

static int note(struct mf_sampler *sampler, struct mf_residency_detail *detail)
{
	struct mf_residency *residency = &sampler->residency;
	int ret = keep(sampler, &detail->sample);

	if (!ret && mf_residency_rss(&detail->sample) > mf_residency_rss(&residency->peak.sample))
		ret = mf_residency_detail_copy(&residency->peak, detail);
	if (!ret)
		ret = keep_choices(sampler, detail);
	if (ret)
		return ret;
	mf_residency_detail_deinit(&residency->last);
	residency->last = *detail;
	*detail = (struct mf_residency_detail){ 0 };
	return 0;
}

int mf_sampler_take(struct mf_sampler *sampler, pid_t pid, const struct mf_store *store, int memory, struct mf_sample_at at,
		    struct mf_error *err)
{
	struct mf_residency_detail detail;
	uint64_t begun = used_us(), paid_ms, next_ms;
	int ret = mf_sample_take(pid, store, memory, &sampler->memory, at.touches, &detail, err);

	detail.sample.time_ms = at.time_ms;
	detail.sample.time = at.time;
	detail.sample.reasons = at.reasons;
	detail.of = at.of;
	if (!ret) {
		sampler->residency.peak_rss = read_peak(pid) ?: sampler->residency.peak_rss;
		if (note(sampler, &detail))
			ret = out_of_memory(err);
	}
	paid_ms = sampler->rested_ms > at.time_ms ? sampler->rested_ms : at.time_ms;
	sampler->rested_ms = paid_ms + (used_us() - begun) * DUTY / 1000;
	next_ms = at.time_ms + sampler->interval_ms;
	sampler->next_ms = sampler->rested_ms > next_ms ? sampler->rested_ms : next_ms;
	mf_residency_detail_deinit(&detail);
	return ret;
}

void mf_sampler_deinit(struct mf_sampler *sampler)
{
	mf_residency_deinit(&sampler->residency);
	mf_sample_memory_deinit(&sampler->memory);
	*sampler = (struct mf_sampler){ 0 };
}
