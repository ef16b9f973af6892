// SPDX-License-Identifier: GPL-2.0
// The filter: which frames of a captured stack a report shows.

#include "report/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/location.h"

/* Massif records this many more frames than --depth asks for, since the filter may remove some. */
#define CAPTURE_EXTRA 50

static const char *const default_alloc_fns[] = {
	"malloc",
	"__builtin_new",
	"operator new(unsigned long)",
	"__builtin_vec_new",
	"operator new[](unsigned long)",
	"calloc",
	"aligned_alloc",
	"realloc",
	"memalign",
	"posix_memalign",
	"valloc",
	"operator new(unsigned long, std::nothrow_t const&)",
	"operator new[](unsigned long, std::nothrow_t const&)",
	"operator new(unsigned long, std::align_val_t)",
	"operator new[](unsigned long, std::align_val_t)",
	"operator new(unsigned long, std::align_val_t, std::nothrow_t const&)",
	"operator new[](unsigned long, std::align_val_t, std::nothrow_t const&)",
};
#define N_DEFAULT_ALLOC_FNS (sizeof(default_alloc_fns) / sizeof(*default_alloc_fns))

const struct mf_strings mf_filter_alloc_fns = {
	.items = default_alloc_fns, .count = N_DEFAULT_ALLOC_FNS,
};

/*
 * Facts about a frame. Each group of facts is determined at most once per frame, when a fact of the group is first
 * needed.
 */
enum {
	KIND_KNOWN = 1 << 0,
	IS_MAIN = 1 << 1,
	IS_BELOW_MAIN = 1 << 2,
	ALLOC_KNOWN = 1 << 3,
	IS_ALLOC = 1 << 4,
	IGNORE_KNOWN = 1 << 5,
	IS_IGNORE = 1 << 6,
	HAS_NAME = 1 << 7,
};

struct name {
	const char *text;
	bool *matched; /* set to true when a frame of a function with this name is found; may be NULL */
};

struct names {
	struct name *sorted;
	size_t count;
};

/*
 * How many frames at each end of a stack the filter usually has to examine. At the inner end, it searches for the first
 * function that is not an allocation function; at the outer end, for main.
 */
enum { EXPECTED_INNER = 2, EXPECTED_OUTER = 4 };

struct mf_filter {
	const struct mf_report_options *options;
	struct mf_frames *frames;
	struct mf_symbolizer *symbolizer;
	uint32_t capture_max;
	struct names alloc_fns, ignore_fns;
	/* the outermost frames of the stack most recently examined by is_main_near(), outermost first */
	struct mf_frame bottom[EXPECTED_OUTER];
	uint32_t n_bottom;
	bool bottom_has_main;
	struct mf_frame expected[EXPECTED_INNER]; /* the innermost frames that were announced last */
	uint8_t *facts; /* for each frame, indexed by frame number: bitmask of its known facts */
	size_t n_facts;
};

static int compare_names(const void *a, const void *b)
{
	const struct name *one = a, *other = b;

	return strcmp(one->text, other->text);
}

static bool has_name(const struct names *names, const char *function)
{
	const struct name key = { .text = function };
	const struct name *found;

	if (!function || !names->count)
		return false;
	found = bsearch(&key, names->sorted, names->count, sizeof(*names->sorted), compare_names);
	/* Mark a found name as matched with an atomic store, because filters in several threads may share the names. */
	if (found && found->matched)
		__atomic_store_n(found->matched, true, __ATOMIC_RELAXED);
	return found;
}

/* Sorts the built-in function names together with the given ones. Returns false if out of memory. */
static bool collect_names(struct names *names, const char *const *builtin, size_t n_builtin,
			  const struct mf_strings *given)
{
	names->sorted = calloc(n_builtin + given->count + 1, sizeof(*names->sorted));
	if (!names->sorted)
		return false;
	for (size_t i = 0; i < n_builtin; i++)
		names->sorted[names->count++].text = builtin[i];
	for (size_t i = 0; i < given->count; i++)
		names->sorted[names->count++] = (struct name){
			.text = given->items[i], .matched = given->matched ? &given->matched[i] : NULL,
		};
	qsort(names->sorted, names->count, sizeof(*names->sorted), compare_names);
	return true;
}

int mf_filter_create(const struct mf_report_options *options, bool pages, struct mf_frames *frames,
		     struct mf_symbolizer *symbolizer, struct mf_filter **out, struct mf_error *err)
{
	struct mf_filter *filter = calloc(1, sizeof(*filter));

	if (!filter)
		return mf_error_set(err, -ENOMEM, "out of memory for the filter");
	filter->options = options;
	filter->frames = frames;
	filter->symbolizer = symbolizer;
	/*
	 * In heap mode, Massif's limit on the number of recorded frames includes the frame of malloc(), which our
	 * stacks do not contain.
	 */
	filter->capture_max = options->depth + CAPTURE_EXTRA - (pages ? 0 : 1);
	if (!collect_names(&filter->alloc_fns, default_alloc_fns, N_DEFAULT_ALLOC_FNS,
			   &options->alloc_fns) ||
	    !collect_names(&filter->ignore_fns, NULL, 0, &options->ignore_fns)) {
		mf_filter_destroy(filter);
		return mf_error_set(err, -ENOMEM, "out of memory for the filter");
	}
	*out = filter;
	return 0;
}

void mf_filter_destroy(struct mf_filter *filter)
{
	if (!filter)
		return;
	free(filter->alloc_fns.sorted);
	free(filter->ignore_fns.sorted);
	free(filter->facts);
	free(filter);
}

static const char *shown(const struct mf_filter *filter, const char *function)
{
	return mf_location_function(function, filter->options);
}

static uint8_t find_kind(struct mf_filter *filter, struct mf_frame frame)
{
	const char *function = mf_symbolizer_function(filter->symbolizer, frame);

	if (!function)
		return KIND_KNOWN;
	if (strcmp(function, "main") == 0)
		return KIND_KNOWN | IS_MAIN;
	return KIND_KNOWN | (mf_location_is_below_main(function) ? IS_BELOW_MAIN : 0);
}

/* A frame with inlined calls is an allocation function only if all of its functions are. */
static uint8_t find_alloc(struct mf_filter *filter, struct mf_frame frame)
{
	const char *outer = mf_symbolizer_function(filter->symbolizer, frame);
	const struct mf_location *locations;
	size_t count;

	/* The name from the symbol table is nearly always sufficient and does not require DWARF. */
	if (!has_name(&filter->alloc_fns, shown(filter, outer)))
		return ALLOC_KNOWN;
	count = mf_symbolizer_resolve(filter->symbolizer, frame, &locations);
	for (size_t i = 0; i < count; i++) {
		if (!has_name(&filter->alloc_fns, shown(filter, locations[i].function)))
			return ALLOC_KNOWN;
	}
	return ALLOC_KNOWN | IS_ALLOC;
}

/* Returns the innermost function of @frame that is not an allocation function, or NULL. */
static const char *innermost(struct mf_filter *filter, struct mf_frame frame)
{
	const struct mf_location *locations;
	size_t count = mf_symbolizer_resolve(filter->symbolizer, frame, &locations);

	for (size_t i = 0; i < count; i++) {
		const char *function = shown(filter, locations[i].function);

		if (function && !has_name(&filter->alloc_fns, function))
			return function;
	}
	return NULL;
}

/* Compares the innermost function with the names given with --ignore-fn. */
static uint8_t find_ignore(struct mf_filter *filter, struct mf_frame frame)
{
	const char *function = innermost(filter, frame);

	if (!function)
		return IGNORE_KNOWN;
	return IGNORE_KNOWN | HAS_NAME | (has_name(&filter->ignore_fns, function) ? IS_IGNORE : 0);
}

/*
 * The facts that the filter must know about a frame are determined in three groups. For each group: the bit that is set
 * when its facts are known, and the function that determines them.
 */
static const struct {
	uint8_t known;
	uint8_t (*find)(struct mf_filter *filter, struct mf_frame frame);
} questions[] = {
	{ KIND_KNOWN, find_kind },
	{ ALLOC_KNOWN, find_alloc },
	{ IGNORE_KNOWN, find_ignore },
};

/* Grows filter->facts to include frame @number. Returns false if out of memory. */
static bool make_room(struct mf_filter *filter, uint32_t number)
{
	size_t n = (size_t)number * 2 + 1024;
	uint8_t *facts;

	if (number < filter->n_facts)
		return true;
	facts = realloc(filter->facts, n);
	if (!facts)
		return false;
	memset(facts + filter->n_facts, 0, n - filter->n_facts);
	filter->facts = facts;
	filter->n_facts = n;
	return true;
}

/*
 * Determines one group of facts about frame @at of @context that the filter needs, unless they are already known.
 * @known is the bit that marks the group as known. Returns the bits of all known facts about the frame, or -ENOMEM.
 */
static int ask(struct mf_filter *filter, const struct mf_context *context, uint32_t at, uint8_t known)
{
	struct mf_frame frame = context->frames[at];
	uint32_t number = mf_frames_intern_at(filter->frames, frame, context->n_frames - 1 - at);

	if (number == MF_FRAMES_NONE || !make_room(filter, number))
		return -ENOMEM;
	if (filter->facts[number] & known)
		return filter->facts[number];
	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++) {
		if (questions[i].known == known)
			filter->facts[number] |= questions[i].find(filter, frame);
	}
	return filter->facts[number];
}

static void notify(const struct mf_filter_listener *listener, enum mf_filter_decision decision,
		   const char *function, uint32_t count)
{
	if (listener)
		listener->decided(listener->data, decision, function, count);
}

/* Removes allocation functions from the innermost end of @span. */
static int drop_alloc_fns(struct mf_filter *filter, const struct mf_context *context,
			  const struct mf_filter_listener *listener, struct mf_filter_span *span)
{
	while (span->count) {
		int facts = ask(filter, context, span->first, ALLOC_KNOWN);

		if (facts < 0)
			return facts;
		if (!(facts & IS_ALLOC))
			break;
		if (listener)
			notify(listener, MF_FILTER_ALLOC_FN,
			       shown(filter, mf_symbolizer_function(filter->symbolizer,
								    context->frames[span->first])), 1);
		span->first++;
		span->count--;
	}
	return 0;
}

/* Empties @span if the allocating function, that is, the innermost function with a name, is to be ignored. */
static int drop_ignored(struct mf_filter *filter, const struct mf_context *context,
			const struct mf_filter_listener *listener, struct mf_filter_span *span)
{
	if (!filter->ignore_fns.count)
		return 0;
	for (uint32_t i = 0; i < span->count; i++) {
		int facts = ask(filter, context, span->first + i, IGNORE_KNOWN);

		if (facts < 0)
			return facts;
		if (facts & IS_IGNORE) {
			if (listener)
				notify(listener, MF_FILTER_IGNORE_FN,
				       innermost(filter, context->frames[span->first + i]), span->count);
			span->count = 0;
		}
		if (facts & HAS_NAME)
			break;
	}
	return 0;
}

/*
 * Finds the index of the outermost frame to keep: the outermost main, otherwise the innermost function below main,
 * otherwise the last frame. All @count frames are searched, including those already removed, so that frames below main
 * are removed even if main itself is an allocation function.
 */
static int find_end(struct mf_filter *filter, const struct mf_context *context, uint32_t count,
		    uint32_t *end)
{
	uint32_t below = count - 1;

	for (uint32_t i = count; i-- > 0;) {
		int facts = ask(filter, context, i, KIND_KNOWN);

		if (facts < 0)
			return facts;
		if (facts & IS_MAIN) {
			*end = i;
			return 0;
		}
		if (facts & IS_BELOW_MAIN)
			below = i;
	}
	*end = below;
	return 0;
}

static int drop_below_main(struct mf_filter *filter, const struct mf_context *context, uint32_t count,
			   const struct mf_filter_listener *listener, struct mf_filter_span *span)
{
	uint32_t end;
	int rc;

	if (filter->options->show_below_main || !span->count)
		return 0;
	rc = find_end(filter, context, count, &end);
	if (rc)
		return rc;
	/* Always keep one frame, because an empty span would mean that the block is ignored. */
	if (end < span->first) {
		notify(listener, MF_FILTER_KEEP_ONE, NULL, 1);
		span->count = 1;
	} else {
		notify(listener, MF_FILTER_BELOW_MAIN, NULL, count - 1 - end);
		span->count = end - span->first + 1;
	}
	return 0;
}

static struct mf_frame outer_frame(const struct mf_context *context, uint32_t i)
{
	return context->frames[context->n_frames - 1 - i];
}

/* Returns whether the outermost frames of @context are the same as those of the most recently examined stack. */
static bool is_known_bottom(const struct mf_filter *filter, const struct mf_context *context)
{
	if (!filter->n_bottom || context->n_frames < filter->n_bottom)
		return false;
	for (uint32_t i = 0; i < filter->n_bottom; i++) {
		struct mf_frame frame = outer_frame(context, i);

		if (frame.pc != filter->bottom[i].pc || frame.object != filter->bottom[i].object)
			return false;
	}
	return true;
}

/*
 * Returns whether main is among the outermost frames of @context. The stacks of a program have only a few different
 * outermost frames.
 */
static bool is_main_near(struct mf_filter *filter, const struct mf_context *context)
{
	if (is_known_bottom(filter, context))
		return filter->bottom_has_main;
	filter->n_bottom = 0;
	filter->bottom_has_main = false;
	while (filter->n_bottom < context->n_frames && filter->n_bottom < EXPECTED_OUTER && !filter->bottom_has_main) {
		struct mf_frame frame = outer_frame(context, filter->n_bottom);
		const char *function = mf_symbolizer_function(filter->symbolizer, frame);

		filter->bottom[filter->n_bottom++] = frame;
		filter->bottom_has_main = function && strcmp(function, "main") == 0;
	}
	return filter->bottom_has_main;
}

void mf_filter_expect(struct mf_filter *filter, const struct mf_context *context)
{
	uint32_t count = context->n_frames < EXPECTED_INNER ? context->n_frames : EXPECTED_INNER;

	/*
	 * Usually main is among the outermost frames. If it is missing there (cut off, without a name, or in another
	 * thread), all frames will be searched for it.
	 */
	if (context->n_frames > filter->capture_max)
		count = filter->capture_max;
	else if (!is_main_near(filter, context))
		count = context->n_frames;
	for (uint32_t i = 0; i < count; i++) {
		struct mf_frame frame = context->frames[i], *last = &filter->expected[i % EXPECTED_INNER];

		/* Successive stacks often end in the same call. */
		if (frame.pc != last->pc || frame.object != last->object)
			mf_symbolizer_expect(filter->symbolizer, frame);
		*last = frame;
	}
}

int mf_filter_apply(struct mf_filter *filter, const struct mf_context *context,
		    const struct mf_filter_listener *listener, struct mf_filter_span *span,
		    struct mf_error *err)
{
	uint32_t count = context->n_frames;
	int rc;

	if (count > filter->capture_max)
		count = filter->capture_max;
	*span = (struct mf_filter_span){ 0, count };

	rc = filter->options->whole_stacks ? 0 : drop_alloc_fns(filter, context, listener, span);
	if (!rc && !filter->options->whole_stacks)
		rc = drop_ignored(filter, context, listener, span);
	if (!rc)
		rc = drop_below_main(filter, context, count, listener, span);
	if (rc)
		return mf_error_set(err, rc, "out of memory for the filter");
	if (span->count > filter->options->depth && !filter->options->whole_stacks) {
		notify(listener, MF_FILTER_DEPTH, NULL, span->count - filter->options->depth);
		span->count = filter->options->depth;
	}
	return 0;
}
