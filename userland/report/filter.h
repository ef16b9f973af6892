/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The filter: which frames of a recorded stack a report shows.
 *
 * Allocation functions are removed from the innermost end, and functions below main from the outermost end; of the
 * remaining frames, the innermost `depth` are kept. The kept frames are always contiguous. If no frame is kept, the
 * blocks allocated with this stack are ignored.
 */
#ifndef MASSIF_REPORT_FILTER_H
#define MASSIF_REPORT_FILTER_H

#include <stdint.h>

#include "base/error.h"
#include "report/frames.h"
#include "report/options.h"
#include "profile/profile.h"
#include "symbols/symbolizer.h"

/* The kept frames of a context: from frames[first] up to, but not including, frames[first + count]. */
struct mf_filter_span {
	uint32_t first, count;
};

struct mf_filter;

/* Decisions of the filter about the frames of a context, in the order in which they are made. */
enum mf_filter_decision {
	MF_FILTER_ALLOC_FN,   /* the innermost function, @function, is an allocation function and its frame is
			       * removed */
	MF_FILTER_IGNORE_FN,  /* all frames are removed, because --ignore-fn contains @function */
	MF_FILTER_BELOW_MAIN, /* @count frames below main are removed */
	MF_FILTER_KEEP_ONE,   /* main has already been removed; one frame below it is kept, because a context without
			       * frames would be ignored */
	MF_FILTER_DEPTH,      /* the @count outermost frames are removed, because they exceed the depth */
};

/* Callback that receives the filter's decisions about a context. */
struct mf_filter_listener {
	void (*decided)(void *data, enum mf_filter_decision decision, const char *function,
			uint32_t count);
	void *data;
};

/* The names of the default allocation functions (malloc, operator new and so on), which need no --alloc-fn. */
extern const struct mf_strings mf_filter_alloc_fns;

/*
 * Creates a filter. @options, @frames and @symbolizer must outlive it. With @pages, contexts begin with the frame of
 * the system call. In heap mode, they begin with the caller of malloc(), so they have one frame fewer than Massif's.
 * Returns 0 or -ENOMEM.
 */
int mf_filter_create(const struct mf_report_options *options, bool pages, struct mf_frames *frames,
		     struct mf_symbolizer *symbolizer, struct mf_filter **filter,
		     struct mf_error *err);
void mf_filter_destroy(struct mf_filter *filter);

/*
 * Announces that @context will be passed to mf_filter_apply(). If all contexts are announced first, their names are
 * looked up together.
 */
void mf_filter_expect(struct mf_filter *filter, const struct mf_context *context);

/*
 * Sets *@span to the frames of @context that reports show; none if the context is ignored. Calls @listener, which may
 * be NULL, for each decision of the filter. Returns 0 or -ENOMEM.
 */
int mf_filter_apply(struct mf_filter *filter, const struct mf_context *context,
		    const struct mf_filter_listener *listener, struct mf_filter_span *span,
		    struct mf_error *err);

#endif
