/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sites of a profile's stacks, which are the calls by which reports name them (report/standard.h). The tree in a page
 * shows stacks that matter little only as others; by their sites, tables have the bytes of these, too.
 */
#ifndef MASSIF_HTML_SITES_H
#define MASSIF_HTML_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/profile.h"
#include "report/index.h"

#define MF_HTML_NO_SITE UINT32_MAX

struct mf_html_site {
	uint32_t call;
	uint32_t stacks; /* of the stacks that are not in the tree, those with this site */
	uint32_t id;	 /* position in the page */
	float share;	 /* the largest part that its stacks have of a total */
};

/* Zero-initialise it. */
struct mf_html_sites {
	struct mf_html_site *list;
	size_t count, room;
	struct mf_index index;	/* number of a site by its call */
	uint32_t *of_contexts;	/* site of each context; MF_HTML_NO_SITE: it is not shown */
	size_t n_contexts;
	uint64_t *sums;		/* for each site */
	/* What is in the page. */
	uint32_t *order;	/* the sites by their positions in the page, without the rest */
	size_t n_kept;
	size_t n_printed;	/* one more than these if there is a rest */
	uint64_t n_rest;	/* sites that are not in the page: position n_kept stands for all of them */
};

/* Makes room for @n_contexts contexts. Returns 0 or -ENOMEM, as the following do. */
int mf_html_sites_init(struct mf_html_sites *sites, size_t n_contexts);

/* Sets the site of @context. */
int mf_html_sites_set(struct mf_html_sites *sites, uint32_t context, uint32_t call);

/* Raises the share of each site to what it has of the total of @leaves. Call it after all sites have been set. */
int mf_html_sites_weigh(struct mf_html_sites *sites, const struct mf_leaf *leaves, size_t n);

/* Chooses, of the sites of the contexts for which @is_merged is true, the @n that matter most. */
int mf_html_sites_choose(struct mf_html_sites *sites, const bool *is_merged, size_t n);

/* Returns the position in the page of the site of @context, which is merged. */
uint32_t mf_html_sites_of(const struct mf_html_sites *sites, uint32_t context);

void mf_html_sites_deinit(struct mf_html_sites *sites);

#endif
