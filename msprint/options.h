/* SPDX-License-Identifier: GPL-2.0 */
/* Parses the command line. */
#ifndef MASSIF_MSPRINT_OPTIONS_H
#define MASSIF_MSPRINT_OPTIONS_H

#include "number.h"
#include "text.h"

struct mf_failure;

struct mf_options {
	struct mf_number threshold;	/* nodes below this percentage are hidden */
	unsigned int width;		/* width of the graph in columns */
	unsigned int height;		/* height of the graph in rows */
	const char *path;
	const char *answer;		/* text to print instead of a report, or NULL to print a report */
	struct mf_text args;		/* all arguments, each preceded by a space */
};

#define MF_OPTIONS_AUTO __attribute__((cleanup(mf_options_deinit))) struct mf_options

/*
 * Returns 0 if the arguments are valid, even if they only request the usage or the version (options->answer). Otherwise
 * returns -EINVAL with @failure set. Always call mf_options_deinit() afterwards.
 */
int mf_options_parse(struct mf_options *options, int argc, char **argv,
		     struct mf_failure *failure);
void mf_options_deinit(struct mf_options *options);

#endif
