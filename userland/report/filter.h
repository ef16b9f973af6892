/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which frames of a captured stack a report shows.
 *
 * From the innermost end allocation functions go; from the outermost end what is below main goes;
 * of the rest the first `depth` stay. What stays is always a contiguous part of the stack. Nothing
 * may stay: then the blocks of that stack are ignored.
 */
#ifndef MASSIF_REPORT_FILTER_H
#define MASSIF_REPORT_FILTER_H

#include <stdint.h>

#include "base/error.h"
#include "report/frames.h"
#include "report/options.h"
#include "profile/profile.h"
#include "symbols/symbolizer.h"

/* The frames kept of a context: its frames[first] up to, not including, frames[first + count]. */
struct mf_filter_span {
	uint32_t first, count;
};

struct mf_filter;

/* What is decided about a context, in this order. */
enum mf_filter_decision {
	MF_FILTER_ALLOC_FN,   /* @function, innermost, is left out; once a frame */
	MF_FILTER_IGNORE_FN,  /* everything is left out, because of @function */
	MF_FILTER_BELOW_MAIN, /* @count frames below main are left out */
	MF_FILTER_KEEP_ONE,   /* main was left out already: one frame stays */
	MF_FILTER_DEPTH,      /* the outermost are left out, for there are too many */
};

/* Someone who wants to know of them. */
struct mf_filter_listener {
	void (*hear)(void *data, enum mf_filter_decision decision, const char *function,
		     uint32_t count);
	void *data;
};

/* The functions that are allocation functions without being given. */
extern const struct mf_strings mf_filter_alloc_fns;

/*
 * @options, @frames and @symbolizer must outlive the filter. @pages says that contexts begin with
 * the system call's frame; in heap mode they begin with the caller of malloc, which was one frame
 * less to look at for Massif. Returns 0 or -ENOMEM.
 */
int mf_filter_create(const struct mf_report_options *options, bool pages, struct mf_frames *frames,
		     struct mf_symbolizer *symbolizer, struct mf_filter **filter,
		     struct mf_error *err);
void mf_filter_destroy(struct mf_filter *filter);

/*
 * @context will be given to mf_filter_apply() soon: with all contexts announced before the first is, the names that
 * are needed are asked for together.
 */
void mf_filter_expect(struct mf_filter *filter, const struct mf_context *context);

/* The part of @context to show; @listener may be NULL. Returns 0 or -ENOMEM. */
int mf_filter_apply(struct mf_filter *filter, const struct mf_context *context,
		    const struct mf_filter_listener *listener, struct mf_filter_span *span,
		    struct mf_error *err);

#endif
