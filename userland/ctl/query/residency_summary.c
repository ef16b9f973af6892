// SPDX-License-Identifier: GPL-2.0
// Says in a few lines what a resident set consists of, which code keeps it large, and what can be done.

#include "residency_summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "ctl/message/quantity.h"
#include "ctl/query/label.h"
#include "report/counted.h"
#include "report/sites.h"

/* Parts of less than one so-many-th of the resident set are not in the sentence. */
#define WORTH_NAMING 100u

/* There is advice about a part that is at least one so-many-th of the resident set. */
#define WORTH_ADVICE 10u

#define LABEL_COLUMNS 60u

/*
 * Returns the label of the site whose blocks keep most free memory in their pages, and how much in @bytes; NULL if none
 * keeps any. The caller frees it.
 */
static char *most_pinning_site(const struct mf_query *query, struct mf_recorded *process,
			       const struct mf_residency_detail *detail, uint64_t *bytes)
{
	__attribute__((cleanup(mf_sites_deinit))) struct mf_sites sites = { 0 };
	const struct mf_moment moment = {
		.profile = &process->profile, .options = &query->options.report, .symbolizer = process->symbolizer,
	};
	const struct mf_site *largest = NULL;
	struct mf_counted counted;
	struct mf_error err;
	char *label = NULL;

	if (!mf_counted_init_resident(&counted, &moment, detail, MF_RESIDENT_PINNED, &err) &&
	    !mf_sites_add(&sites, &counted.moment, MF_SITES_BY_SITE, 0, &err))
		for (size_t i = 0; i < sites.count; i++)
			if (sites.list[i].bytes[0] && (!largest || sites.list[i].bytes[0] > largest->bytes[0]))
				largest = &sites.list[i];
	mf_counted_deinit(&counted);
	*bytes = largest ? largest->bytes[0] : 0;
	if (largest)
		label = strdup(largest->label);
	if (label)
		mf_label_shorten(label, LABEL_COLUMNS);
	return label;
}

/* Returns how many areas or, of stacks, threads there are in a band; 0 if that is not known. */
static uint64_t count_areas(const struct mf_residency_detail *detail, enum mf_band band)
{
	uint64_t n = 0;

	for (size_t i = 0; i < detail->n_areas; i++) {
		const struct mf_residency_area *area = &detail->areas[i];

		if (area->band != band || !area->rss)
			continue;
		/* A recording of an earlier version has neither number, nor how many areas the rest of a band consists of. */
		if (!area->areas && !area->n)
			return 0;
		if (band == MF_BAND_STACKS)
			n += area->areas ? area->threads : area->n;
		else
			n += area->areas ? area->areas : 1;
	}
	return n;
}

/* What is said of the bands that have no blocks. */
static const struct {
	enum mf_band band;
	const char *words, *counted; /* @counted: what there are several of, in the plural */
} others[] = {
	{ MF_BAND_ANONYMOUS, "other anonymous mappings", NULL },
	{ MF_BAND_STACKS, "stacks", "threads" },
	{ MF_BAND_FILES, "mapped files", "files" },
	{ MF_BAND_SHARED, "shared memory", NULL },
	{ MF_BAND_MASSIF, "massif's own memory", NULL },
};

static void say_others(FILE *out, const struct mf_residency_detail *detail)
{
	uint64_t rss = mf_residency_rss(&detail->sample);

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		uint64_t bytes = detail->sample.bands[others[i].band], n = count_areas(detail, others[i].band);

		if (bytes * WORTH_NAMING < rss)
			continue;
		fprintf(out, "; %s %s", mf_quantity_bytes(bytes).text, others[i].words);
		if (others[i].counted && n > 1)
			fprintf(out, " (%" PRIu64 " %s)", n, others[i].counted);
	}
}

/* @site keeps @bytes of the free memory in pages with live blocks, more than any other that the question is about. */
static void say_free(FILE *out, const struct mf_residency_detail *detail, const char *site, uint64_t bytes)
{
	const uint64_t *bands = detail->sample.bands;
	uint64_t parts = bands[MF_BAND_FREE_PARTS], pages = bands[MF_BAND_FREE_PAGES];
	uint64_t used = bands[MF_BAND_LIVE] + bands[MF_BAND_OVERHEAD];

	fprintf(out, ", %s free inside the allocator", mf_quantity_bytes(parts + pages).text);
	if (pages * WORTH_NAMING >= mf_residency_rss(&detail->sample))
		fprintf(out, ": %s in pages without a live block%s", mf_quantity_bytes(pages).text,
			parts * WORTH_NAMING >= mf_residency_rss(&detail->sample) ? "," : "");
	else if (parts * WORTH_NAMING >= mf_residency_rss(&detail->sample))
		fputs(":", out);
	if (parts * WORTH_NAMING < mf_residency_rss(&detail->sample))
		return;
	fprintf(out, " %s in pages of which live blocks use %.0f %%", mf_quantity_bytes(parts).text,
		mf_quantity_share(used, used + parts));
	if (site && bytes >= parts / 2)
		fprintf(out, ", mostly those of %s", site);
	else if (site)
		fprintf(out, " (%s beside those of %s)", mf_quantity_bytes(bytes).text, site);
}

static int print_sentence(const struct mf_terminal *terminal, const struct mf_query *query, struct mf_recorded *process,
			  const struct mf_residency_detail *detail)
{
	const uint64_t *bands = detail->sample.bands;
	uint64_t pinned = 0;
	mf_auto_free char *site = most_pinning_site(query, process, detail, &pinned);
	mf_auto_free char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return -ENOMEM;
	fprintf(out, "RSS %s: %s live, %s overhead", mf_quantity_bytes(mf_residency_rss(&detail->sample)).text,
		mf_quantity_bytes(bands[MF_BAND_LIVE]).text, mf_quantity_bytes(bands[MF_BAND_OVERHEAD]).text);
	say_free(out, detail, site, pinned);
	say_others(out, detail);
	putc('.', out);
	if (fclose(out))
		return -ENOMEM;
	mf_terminal_print_wrapped(terminal, text);
	return 0;
}

/* What can be done about a part, if it is large. */
static const struct {
	enum mf_band band;
	const char *words;
} advice[] = {
	{ MF_BAND_FREE_PAGES,
	  "The allocator could give the pages without a live block back: glibc with malloc_trim(0), jemalloc with a shorter "
	  "dirty_decay_ms or arena.N.purge. If many threads have had heaps of their own: MALLOC_ARENA_MAX=2." },
	{ MF_BAND_FREE_PARTS,
	  "No allocator can give back the free parts of pages with live blocks. Allocate the blocks of the sites below apart "
	  "from what is freed soon, or before it." },
	{ MF_BAND_OVERHEAD, "The overhead is large because the blocks are small: allocate several at once." },
	{ MF_BAND_ANONYMOUS,
	  "Of other anonymous mappings, massif-ctl --pages=resident names the code that has touched them." },
};

static void print_advice(const struct mf_terminal *terminal, const struct mf_residency_detail *detail)
{
	uint64_t rss = mf_residency_rss(&detail->sample);

	for (size_t i = 0; i < sizeof(advice) / sizeof(advice[0]); i++) {
		uint64_t bytes = detail->sample.bands[advice[i].band];

		/* If that code is known, it has a table. */
		if (advice[i].band == MF_BAND_ANONYMOUS && detail->n_touches)
			continue;
		if (bytes && bytes * WORTH_ADVICE >= rss)
			mf_terminal_print_wrapped(terminal, advice[i].words);
	}
}

int mf_residency_summary_print(const struct mf_terminal *terminal, const struct mf_query *query, struct mf_recorded *process,
			       const struct mf_residency_detail *detail, struct mf_error *err)
{
	if (print_sentence(terminal, query, process, detail))
		return mf_error_set(err, -ENOMEM, "out of memory");
	print_advice(terminal, detail);
	putc('\n', terminal->out);
	return 0;
}
