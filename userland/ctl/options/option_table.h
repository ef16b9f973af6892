/* SPDX-License-Identifier: GPL-2.0 */
/* The table of massif-ctl's options: each has a parser, a range, a target field and its texts for --help. */
#ifndef MASSIF_CTL_OPTION_TABLE_H
#define MASSIF_CTL_OPTION_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "ctl/options/options.h"

struct mf_option;

/*
 * Parses @value, the text after the `=`, or NULL if there is none. Returns 0; -EINVAL with the reason in @err; or -EDOM
 * if the table does not list @value, in which case the caller prints the values listed there.
 */
typedef int (*mf_option_parser)(const struct mf_option *option, struct mf_options *options,
				const char *value, struct mf_error *err);

enum {
	MF_OPTION_CORE = 1u << 0, /* the option does not affect the profile, so the profile's desc line omits the option */
	MF_OPTION_BARE = 1u << 1, /* the option may be given without `=` */
	MF_OPTION_WIDE = 1u << 2, /* for a number that does not fit into 32 bits, say "out of range", not "invalid" */
};

struct mf_option {
	const char *name;
	mf_option_parser parse;
	size_t place; /* where the option's value is stored: an offset in struct mf_options */
	int64_t min, max;
	unsigned int flags;
	const char *values, *initial, *meaning; /* texts for --help */
};

extern const struct mf_option mf_option_table[];
extern const size_t mf_option_table_size;

/* Returns whether the option is yes or no. Its parser has an error message of its own for a missing value. */
bool mf_option_is_boolean(const struct mf_option *option);

#endif
