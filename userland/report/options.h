/* SPDX-License-Identifier: GPL-2.0 */
/* What a report shows and how; shared by everything that turns a profile into a file. */
#ifndef MASSIF_REPORT_OPTIONS_H
#define MASSIF_REPORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Strings that a user gave, in the order given; they belong to the one who set them. */
struct mf_strings {
	const char *const *items;
	size_t count;
	bool *matched; /* of each item: some frame had this name; NULL: nobody wants to know */
};

struct mf_report_options {
	double threshold; /* per cent of the snapshot's total; smaller tree entries are merged */
	uint32_t depth;	  /* frames of a context that are kept, 1..200 */
	struct mf_strings alloc_fns;	  /* in addition to the built-in allocation functions */
	struct mf_strings ignore_fns;	  /* contexts that these allocate in are left out */
	struct mf_strings fullpath_after; /* see mf_location_print() */
	bool show_below_main;		  /* keep the frames below main, under their own names */
	bool sym_offsets;		  /* function+offset */
	bool keep_unloaded;		  /* name code that was unloaded before the end */
	bool whole_stacks;		  /* drop nothing but what is below main, or too deep */
};

/* The defaults of Massif's options. */
void mf_report_options_init(struct mf_report_options *options);

#endif
