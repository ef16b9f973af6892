/* SPDX-License-Identifier: GPL-2.0 */
/* Options of reports, shared by all writers. */
#ifndef MASSIF_REPORT_OPTIONS_H
#define MASSIF_REPORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Strings from the user, in the given order. They belong to whoever set them. */
struct mf_strings {
	const char *const *items;
	size_t count;
	bool *matched; /* for each item: some frame had this name; NULL: not recorded */
};

struct mf_report_options {
	double threshold; /* per cent of the snapshot's total; smaller tree entries are merged */
	uint32_t depth;	  /* most frames of a context that are kept, 1..200 */
	struct mf_strings alloc_fns;	  /* allocation functions in addition to the built-in ones */
	struct mf_strings ignore_fns;	  /* contexts in which these functions allocate are ignored */
	struct mf_strings fullpath_after; /* paths are printed from the end of one of these strings on; see
					   * mf_location_print() */
	bool show_below_main;		  /* keep the frames below main, with their own names */
	bool sym_offsets;		  /* print function+offset */
	bool keep_unloaded;		  /* also name code that was unloaded before the program ended */
	bool whole_stacks;		  /* remove only frames below main and those beyond the depth */
};

/* Sets the defaults of Massif. */
void mf_report_options_init(struct mf_report_options *options);

#endif
