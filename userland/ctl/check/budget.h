/* SPDX-License-Identifier: GPL-2.0 */
/* Budgets: limits for what programs, or parts of them, allocate and hold. */
#ifndef MASSIF_CTL_BUDGET_H
#define MASSIF_CTL_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "report/counted.h"

/* The quantities that a budget can limit. */
enum mf_measure {
	MF_MEASURE_PEAK,
	MF_MEASURE_END,		/* bytes held at the end */
	MF_MEASURE_ALLOCATIONS, /* blocks allocated since the start */
	MF_MEASURE_ALLOCATED,	/* the sum of their sizes */
	MF_MEASURE_TEMPORARY,	/* temporary blocks, or their share of all */
	MF_MEASURE_LEAK_SITES,	/* sites that hold bytes at the end and are no known leaks */
	/* Of the sample with the largest resident set, and of the last one: bytes, without massif's own memory. */
	MF_MEASURE_RSS,
	MF_MEASURE_RSS_END,
	MF_MEASURE_FREE, /* free memory of the allocator */
	MF_MEASURE_FREE_END,
	MF_MEASURE_OVERHEAD,
	MF_MEASURE_OVERHEAD_END,
	MF_MEASURE_ANONYMOUS,
	MF_MEASURE_ANONYMOUS_END,
	MF_MEASURE_STACKS,
	MF_MEASURE_STACKS_END,
	MF_MEASURE_FILES,
	MF_MEASURE_FILES_END,
	MF_MEASURE_SHARED,
	MF_MEASURE_SHARED_END,
	MF_MEASURE_PINNED, /* free memory in pages that live blocks keep, by their stacks */
	MF_MEASURE_PINNED_END,
	MF_MEASURE_UNTOUCHED, /* live blocks on pages that were never touched */
	MF_MEASURE_UNTOUCHED_END,
	MF_MEASURE_FIRST_TOUCHED, /* resident pages, by the stacks that touched them first */
	MF_MEASURE_FIRST_TOUCHED_END,
	MF_MEASURES,
};

enum mf_measure_unit {
	MF_UNIT_BYTES,
	MF_UNIT_COUNT,
	MF_UNIT_COUNT_OR_PERCENT,
};

extern const struct mf_measure_kind {
	const char *name;
	enum mf_measure_unit unit;
	bool counted; /* known only if the allocations of each stack were counted */
	/* Known only if the resident set was sampled: */
	uint32_t bands; /* a bit for each band (enum mf_band) that counts; no stack has these */
	bool by_site;	/* @number of the sites counts */
	enum mf_resident_number number;
	bool touches; /* what was touched first counts, by stacks of the profile of first touches */
	bool last; /* in the last sample, not in that with the largest resident set */
} mf_measure_kinds[MF_MEASURES];

/* Returns whether @measure is known only if the resident set was sampled. */
static inline bool mf_measure_is_sampled(enum mf_measure measure)
{
	const struct mf_measure_kind *kind = &mf_measure_kinds[measure];

	return kind->bands || kind->by_site || kind->touches;
}

/* The calls of a stack that a budget's pattern is compared with. */
enum mf_budget_part {
	MF_PART_ALL, /* no pattern: all stacks */
	MF_PART_FUNCTION,
	MF_PART_FILE,
	MF_PART_LIBRARY,
	MF_PARTS,
};

struct mf_budget {
	char *text;    /* the budget, as reports show it, such as "function parse_* peak 64M" */
	char *program; /* pattern for the names of processes; NULL: all */
	enum mf_budget_part part;
	char *pattern; /* the stacks that count: those with such a call; NULL if @part is MF_PART_ALL */
	enum mf_measure measure;
	bool percent;  /* @limit is a percentage */
	double limit;  /* bytes, blocks or sites, or per cent */
};

/* Zero-initialise it. */
struct mf_budgets {
	struct mf_budget *list;
	size_t count, room;
};

/* Adds a budget for all of every process: @measure, at most @limit. Returns 0, or -EINVAL with a reason in @err. */
int mf_budgets_add(struct mf_budgets *budgets, enum mf_measure measure, const char *limit, struct mf_error *err);

/*
 * Adds the budgets in the file @path. Each line is
 *
 *	[program PATTERN] [function PATTERN | file PATTERN | library PATTERN] MEASURE LIMIT
 *
 * A word that contains blanks is put in double quotes. What follows a # is a comment. Returns 0, or -errno with a message
 * that names the line.
 */
int mf_budgets_read(struct mf_budgets *budgets, const char *path, struct mf_error *err);

void mf_budgets_deinit(struct mf_budgets *budgets);

#endif
