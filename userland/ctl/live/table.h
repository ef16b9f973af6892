/* SPDX-License-Identifier: GPL-2.0 */
/* The sites of a running profile: what they hold, and how fast that grows. */
#ifndef MASSIF_CTL_TABLE_H
#define MASSIF_CTL_TABLE_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "namer.h"
#include "report/index.h"
#include "reader.h"

/* The numbers by which sites are sorted. */
enum mf_live_sort {
	MF_LIVE_HELD,	     /* live bytes */
	MF_LIVE_GROWTH,	     /* live bytes gained per second */
	MF_LIVE_ALLOCATIONS, /* blocks allocated per second */
	MF_LIVE_SORTS,
};

/* The names of these, as in --sort. */
extern const char *const mf_live_sort_names[MF_LIVE_SORTS];
extern const char *const mf_live_by_names[MF_LIVE_BYS];

struct mf_live_site {
	const char *label;
	struct mf_live_counts now, before;
	double growth, allocations; /* per second */
};

/* The sites of one way to put contexts together. */
struct mf_live_sites {
	struct mf_live_site *list; /* number 0 is that of contexts whose names are not known yet */
	size_t count, room;
	struct mf_index index; /* number of a site by the hash of its label */
	/* number of the site of each context; MF_LIVE_IGNORED if it is ignored; contexts beyond @n_contexts have none yet */
	uint32_t *contexts;
	uint32_t n_contexts;
};

#define MF_LIVE_UNNAMED 0u
#define MF_LIVE_IGNORED UINT32_MAX

struct mf_live_table {
	struct mf_live_sites sites[MF_LIVE_BYS];
	int64_t at_ms, before_ms; /* the age of the process when the counts were read */
	struct mf_live_totals totals, totals_before;
	uint32_t n_contexts; /* number of contexts of the last update */
	/* the counts of the contexts at the update before the last */
	struct mf_live_counts *before;
	uint32_t n_before;
};

int mf_live_table_init(struct mf_live_table *table, struct mf_error *err);
void mf_live_table_deinit(struct mf_live_table *table); /* also accepts one that is all zero */

/* Takes the names of contexts. Returns 0 or -ENOMEM. */
int mf_live_table_name(struct mf_live_table *table, const struct mf_live_batch *batch, struct mf_error *err);

/*
 * Takes the counts that @session has read. Rates are those since the last update; the first time, since the start of the
 * program. Returns 0 or -ENOMEM.
 */
int mf_live_table_update(struct mf_live_table *table, struct mf_live_session *session, struct mf_error *err);

/* The same, for the same counts, after new names. */
void mf_live_table_add_up(struct mf_live_table *table, const struct mf_live_session *session);

/* Returns whether the contexts without names are so many that a user sees them: a hundredth of what is held or allocated. */
bool mf_live_table_needs_names(const struct mf_live_table *table);

/* Seconds between the last two updates; never 0. */
double mf_live_table_seconds(const struct mf_live_table *table);

/*
 * Lists the sites that hold or allocate anything and match @regex, unless it is NULL, in the order of @sort. Returns how
 * many there are; *@list is to be freed. If out of memory, *@list is NULL.
 */
size_t mf_live_table_list(const struct mf_live_table *table, enum mf_live_by by, enum mf_live_sort sort,
			  const regex_t *regex, const struct mf_live_site ***list);

#endif
