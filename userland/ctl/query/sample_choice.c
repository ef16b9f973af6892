// SPDX-License-Identifier: GPL-2.0
// Chooses one of the samples of the resident set that have their sites.

#include "sample_choice.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "ctl/options/number.h"

#define AT_SNAPSHOT (MF_SAMPLE_DETAILED | MF_SAMPLE_PEAK)
#define INDENT	    2u

/* Calls @visit for each sample that has its sites; some are visited twice. */
static void for_each(const struct mf_residency *residency,
		     void (*visit)(const struct mf_residency_detail *detail, void *data), void *data)
{
	for (size_t i = 0; i < residency->n_moments; i++)
		visit(&residency->moments[i], data);
	visit(&residency->peak, data);
	visit(&residency->last, data);
}

struct search {
	bool in_ms;	/* @time is in milliseconds, and not in the profile's unit */
	double time;
	const struct mf_residency_detail *found;
};

/* Finds the last sample until a time. */
static void consider(const struct mf_residency_detail *detail, void *data)
{
	struct search *search = data;
	double time = search->in_ms ? (double)detail->sample.time_ms : (double)detail->sample.time;

	if (time <= search->time && (!search->found || search->found->sample.time_ms < detail->sample.time_ms))
		search->found = detail;
}

static const struct mf_residency_detail *at_time(const struct mf_query *query, const struct mf_profile *profile,
						 struct mf_error *err)
{
	struct search search = { 0 };
	enum mf_time_unit unit;

	mf_query_parse_time(query->at, &unit, &search.time);
	search.in_ms = unit == MF_TIME_MS;
	if (!search.in_ms && unit != profile->time_unit) {
		mf_error_set(err, -EINVAL, "--at=%.200s: the profile does not have this unit of time; use milliseconds (300ms)",
			     query->at);
		return NULL;
	}
	for_each(profile->residency, consider, &search);
	if (!search.found)
		mf_error_set(err, -ESRCH, "--at=%.200s: there is no sample with its sites until then; --at=peak and --at=end "
					  "always have one", query->at);
	return search.found;
}

static const struct mf_residency_detail *at_snapshot(const struct mf_query *query, const struct mf_profile *profile,
						     struct mf_error *err)
{
	const struct mf_residency *residency = profile->residency;
	int64_t number = 0, time;

	mf_number_parse_integer(query->at, &number);
	if ((uint64_t)number >= profile->n_snapshots) {
		mf_error_set(err, -ESRCH, "there is no snapshot %" PRId64 "; the profile has %zu, numbered from 0", number,
			     profile->n_snapshots);
		return NULL;
	}
	time = profile->snapshots[number].time;
	for (size_t i = 0; i < residency->n_moments; i++)
		if (residency->moments[i].of == time && residency->moments[i].sample.reasons & AT_SNAPSHOT)
			return &residency->moments[i];
	mf_error_set(err, -ESRCH, "no sample was taken at snapshot %" PRId64 "; use a time (300ms), or --at=peak or --at=end",
		     number);
	return NULL;
}

const struct mf_residency_detail *mf_sample_choose(const struct mf_query *query, const struct mf_recorded *process,
						   struct mf_error *err)
{
	const struct mf_residency *residency = process->profile.residency;

	if (!query->at || strcmp(query->at, "peak") == 0)
		return &residency->peak;
	if (strcmp(query->at, "end") == 0)
		return &residency->last;
	if (query->at[strspn(query->at, "0123456789")])
		return at_time(query, &process->profile, err);
	return at_snapshot(query, &process->profile, err);
}

void mf_sample_choices_print(FILE *out, const struct mf_residency *residency, unsigned int width)
{
	static const char start[] = "The same for other samples:";
	size_t column = strlen(start);
	char word[40];

	if (!residency->n_moments)
		return;
	fprintf(out, "\n%s", start);
	for (size_t i = 0; i < residency->n_moments; i++) {
		uint64_t time = residency->moments[i].sample.time_ms;
		size_t length;

		if (i && residency->moments[i - 1].sample.time_ms == time)
			continue;
		length = (size_t)snprintf(word, sizeof(word), " --at=%" PRIu64 "ms", time);
		if (column + length > width) {
			fprintf(out, "\n%*s", (int)INDENT - 1, "");
			column = INDENT - 1;
		}
		fputs(word, out);
		column += length;
	}
	putc('\n', out);
}
