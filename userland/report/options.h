/* SPDX-License-Identifier: GPL-2.0 */
/* Report options, shared by all writers. */
#ifndef MASSIF_REPORT_OPTIONS_H
#define MASSIF_REPORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Strings that the user passed as option arguments, in command-line order. Owned by the code that set them. */
struct mf_strings {
	const char *const *items;
	size_t count;
	/*
	 * for lists of function names: one flag for each name, set when a frame of the function with this name is
	 * found; may be NULL
	 */
	bool *matched;
};

struct mf_report_options {
	double threshold; /* percentage of the snapshot's total; smaller tree entries are merged */
	uint32_t depth;	  /* maximum number of frames kept per context, 1..200 */
	struct mf_strings alloc_fns;	  /* allocation functions in addition to mf_filter_alloc_fns */
	struct mf_strings ignore_fns;	  /* ignore contexts whose allocating function is in this list */
	struct mf_strings fullpath_after; /* print only the part of a path that follows one of these strings; see
					   * mf_location_print() */
	bool show_below_main;		  /* keep the frames below main, with their own names */
	bool sym_offsets;		  /* print function+offset */
	bool keep_unloaded;		  /* also show names for code that was unloaded before the program ended */
	bool whole_stacks;		  /* remove only frames below main and frames beyond Massif's recording limit */
};

/* Sets Massif's default options. */
void mf_report_options_init(struct mf_report_options *options);

#endif
