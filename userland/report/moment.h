/* SPDX-License-Identifier: GPL-2.0 */
/* The stacks of one detailed snapshot, with the names of their frames and their live bytes. */
#ifndef MASSIF_REPORT_MOMENT_H
#define MASSIF_REPORT_MOMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/profile.h"
#include "report/options.h"
#include "symbols/symbolizer.h"

/* A snapshot of a profile, and how to show its stacks. @symbolizer was created with the profile's objects. */
struct mf_moment {
	const struct mf_profile *profile;
	const struct mf_profile_snapshot *snapshot; /* has a tree */
	const struct mf_report_options *options;
	struct mf_symbolizer *symbolizer;
	const char *process; /* the name of the process, for MF_SITES_BY_PROCESS; may be NULL */
	bool is_compared; /* labels have no addresses, which differ from run to run; see sites.h */
	bool without_lines; /* nor lines or directories, which differ from build to build */
	bool is_end; /* the snapshot is of the end of the profile */
	bool is_touches; /* the stacks are of first touches, whose sites are in the program; see standard.h */
	bool in_blocks; /* the leaves have numbers of blocks instead of bytes; see counted.h */
};

/* One call of a stack. An inlined call has the frame of the function into which it was inlined. */
struct mf_call {
	struct mf_frame frame;
	const struct mf_location *location;
};

/* A stack of a moment. */
struct mf_moment_stack {
	const struct mf_call *calls; /* the calls that reports show (filter.h), the innermost first */
	size_t n;
	uint64_t bytes;
	uint32_t context;
	uint32_t blocks; /* live blocks, if the snapshot has_blocks */
};

/*
 * Calls @each for every stack of the snapshot that is not ignored, in the order of contexts. The stack is valid during
 * the call of @each. Stops if @each returns anything but 0, and returns that; otherwise returns 0 or -ENOMEM.
 */
int mf_moment_each(const struct mf_moment *moment,
		   int (*each)(void *data, const struct mf_moment_stack *stack, struct mf_error *err), void *data,
		   struct mf_error *err);

/*
 * The same for every stack that has bytes in any snapshot of the profile, or has allocated anything; the snapshot of
 * @moment is not used, and the bytes of the stacks mean nothing.
 */
int mf_moment_each_of_all(const struct mf_moment *moment,
			  int (*each)(void *data, const struct mf_moment_stack *stack, struct mf_error *err), void *data,
			  struct mf_error *err);

/*
 * Returns in *@leaves, which the caller frees, the stacks that have bytes in the snapshot and, if the profile has counts,
 * those that have allocated anything; and how many these are. Sets *@leaves to NULL, with a message, if out of memory.
 */
size_t mf_moment_join_counts(const struct mf_moment *moment, struct mf_leaf **leaves, struct mf_error *err);

/* Returns the name to show for @call: its function, or the file that contains its code, or its address in @text. */
const char *mf_call_name(const struct mf_call *call, const struct mf_report_options *options, char text[static 32]);

#endif
