// SPDX-License-Identifier: GPL-2.0
// Prints the call tree of a snapshot: who called what allocated.

#include "tree_view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/printable.h"
#include "ctl/message/quantity.h"
#include "ctl/query/label.h"
#include "report/filter.h"
#include "report/frames.h"
#include "report/index.h"
#include "report/percent.h"
#include "report/sites.h"
#include "report/standard.h"
#include "report/tree.h"

#define COLUMNS	   20u /* of the numbers in front of a name */
#define INDENT_MAX 40u /* further levels are not indented more, so that names stay readable */

struct view {
	const struct mf_terminal *terminal;
	const struct mf_moment *moment;
	bool all_calls; /* show calls of standard libraries, too */
	struct mf_tree *tree;
	uint64_t total, cut; /* see mf_tree_cut() */
};

/* What an entry of the tree has: bytes or, in a tree of counts, blocks. */
static struct mf_quantity amount_of(const struct view *view, uint64_t number)
{
	struct mf_quantity quantity;

	if (!view->moment->in_blocks)
		return mf_quantity_bytes(number);
	snprintf(quantity.text, sizeof(quantity.text), "%" PRIu64, number);
	return quantity;
}

static unsigned int spaces_of(unsigned int level)
{
	return 2 * level < INDENT_MAX ? 2 * level : INDENT_MAX;
}

static int print_call(const struct view *view, unsigned int level, const struct mf_tree_child *entry,
		      const struct mf_location *location, struct mf_error *err)
{
	const struct mf_call call = { entry->frame, location };
	const struct mf_terminal *terminal = view->terminal;
	unsigned int used = COLUMNS + spaces_of(level);
	struct mf_bytes text = { 0 };

	mf_sites_add_call(&text, view->moment, &call);
	mf_bytes_add(&text, "", 1);
	if (text.failed) {
		mf_bytes_deinit(&text);
		return mf_error_set(err, -ENOMEM, "out of memory");
	}
	mf_printable_clean((char *)text.data);
	fprintf(terminal->out, "%10s %6.2f%%  %*s", amount_of(view, entry->bytes).text,
		mf_quantity_share(entry->bytes, view->total), (int)spaces_of(level), "");
	mf_label_print(terminal, (const char *)text.data, mf_terminal_left(terminal, used));
	putc('\n', terminal->out);
	mf_bytes_deinit(&text);
	return 0;
}

/* Returns the number of calls at @frame, the inlined ones included: *@locations, the innermost first. */
static size_t find_locations(const struct mf_moment *moment, struct mf_frame frame, const struct mf_location **locations)
{
	static const struct mf_location unknown;

	*locations = &unknown;
	if (moment->options->keep_unloaded || !moment->profile->objects[frame.object].unloaded)
		return mf_symbolizer_resolve(moment->symbolizer, frame, locations);
	return 1;
}

/*
 * Returns whether the frame of @entry needs a line even if all its calls belong to a standard library: where the tree
 * branches or ends, and where the library has allocated for itself.
 */
static bool needs_line(const struct view *view, unsigned int level, const struct mf_tree_child *below, size_t n_below)
{
	const struct mf_location *locations;

	if (n_below != 1 || below->node == MF_TREE_MERGED)
		return true;
	return !level && find_locations(view->moment, below->frame, &locations) && mf_standard_is_c(&locations[0]);
}

/*
 * Prints a line for each inlined call, the innermost first. Calls of standard libraries are left out, except the
 * outermost if there are no others and the frame needs a line. Returns the level of what is below, or -ENOMEM.
 */
static int print_node(const struct view *view, unsigned int level, const struct mf_tree_child *entry, bool is_needed,
		      struct mf_error *err)
{
	const struct mf_location *locations;
	size_t count = find_locations(view->moment, entry->frame, &locations);
	unsigned int first = level;

	for (size_t i = 0; i < count; i++) {
		bool is_last = level == first && i == count - 1;
		int code = 0;

		if (view->all_calls || !mf_standard_has(&locations[i]) || (is_needed && is_last))
			code = print_call(view, level++, entry, &locations[i], err);
		if (code)
			return code;
	}
	return (int)level;
}

static void print_merged(const struct view *view, unsigned int level, const struct mf_tree_child *merged)
{
	fprintf(view->terminal->out, "%10s %6.2f%%  %*s%" PRIu32 " more, each below ",
		amount_of(view, merged->bytes).text, mf_quantity_share(merged->bytes, view->total),
		(int)spaces_of(level), "", merged->places);
	mf_percent_print(view->terminal->out, view->moment->options->threshold);
	fputs("%\n", view->terminal->out);
}

static int print_entries(const struct view *view, const struct mf_tree_child *entries, size_t n_entries,
			 unsigned int level, struct mf_error *err)
{
	int code = 0;

	for (size_t i = 0; !code && i < n_entries; i++) {
		mf_auto_free struct mf_tree_child *below = NULL;
		size_t n_below;

		if (entries[i].node == MF_TREE_MERGED) {
			if (entries[i].bytes)
				print_merged(view, level, &entries[i]);
			continue;
		}
		code = mf_tree_children(view->tree, entries[i].node, view->cut, &below, &n_below, err);
		if (!code)
			code = print_node(view, level, &entries[i], needs_line(view, level, below, n_below), err);
		if (code >= 0)
			code = print_entries(view, below, n_below, (unsigned int)code, err);
	}
	return code;
}

static int print_all(const struct view *view, struct mf_error *err)
{
	mf_auto_free struct mf_tree_child *entries = NULL;
	size_t n_entries;
	int code = mf_tree_children(view->tree, MF_TREE_ROOT, view->cut, &entries, &n_entries, err);

	return code ?: print_entries(view, entries, n_entries, 0, err);
}

/* Writes what the lines of @frame say to @text. */
static void describe_frame(const struct mf_moment *moment, struct mf_frame frame, struct mf_bytes *text)
{
	const struct mf_location *locations;
	size_t count = find_locations(moment, frame, &locations);

	text->size = 0;
	for (size_t i = 0; i < count; i++) {
		const struct mf_call call = { frame, &locations[i] };

		mf_sites_add_call(text, moment, &call);
		mf_bytes_add(text, "\n", 1);
	}
	mf_bytes_add(text, "", 1);
}

/*
 * Makes frames the same that read the same: calls in the same line of a function, or, where lines are not known, in the same
 * function. Texts are compared by a hash of 96 bits.
 */
static int merge_frames(const struct view *view, const struct mf_frames *frames, struct mf_error *err)
{
	uint32_t n = mf_frames_count(frames);
	mf_auto_free uint32_t *same = calloc((size_t)n + 1, sizeof(*same));
	struct mf_bytes text = { 0 };
	struct mf_index index = { 0 };
	bool failed = !same;

	for (uint32_t i = 0; i < n && !failed; i++) {
		const char *line;
		uint32_t *first;

		describe_frame(view->moment, mf_frames_get(frames, i), &text);
		line = (const char *)text.data;
		first = text.failed ? NULL : mf_index_put(&index, mf_hash_text(line, 0), (uint32_t)mf_hash_text(line, 1), i);
		failed = !first;
		if (first)
			same[i] = *first;
	}
	mf_index_deinit(&index);
	mf_bytes_deinit(&text);
	if (failed)
		return mf_error_set(err, -ENOMEM, "out of memory");
	mf_tree_merge_frames(view->tree, same);
	return 0;
}

static int print_tree(struct view *view, struct mf_frames *frames, struct mf_filter *filter, struct mf_error *err)
{
	const struct mf_moment *moment = view->moment;
	const struct mf_profile_snapshot *snapshot = moment->snapshot;
	const struct mf_terminal *terminal = view->terminal;
	int code = mf_tree_create(moment->profile, frames, filter, &view->tree, err);

	if (code)
		return code;
	code = merge_frames(view, frames, err);
	if (code) {
		mf_tree_destroy(view->tree);
		return code;
	}
	view->total = mf_tree_weigh(view->tree, snapshot);
	view->cut = mf_tree_cut(snapshot->heap_bytes, snapshot->extra_bytes, snapshot->stack_bytes,
				moment->options->threshold);
	/* With a small total, the threshold can be 0. */
	if (!view->cut)
		view->cut = 1;
	fprintf(terminal->out, "%s%10s %7s  call, and below it its callers%s\n", mf_terminal_bold(terminal),
		moment->in_blocks ? "blocks" : "bytes", "share", mf_terminal_plain(terminal));
	code = print_all(view, err);
	fprintf(terminal->out, "%10s %6.2f%%  in all\n", amount_of(view, view->total).text,
		mf_quantity_share(view->total, view->total));
	mf_tree_destroy(view->tree);
	return code;
}

int mf_tree_view_print(const struct mf_terminal *terminal, const struct mf_moment *moment, bool all_calls,
		       struct mf_error *err)
{
	struct view view = { .terminal = terminal, .moment = moment, .all_calls = all_calls };
	struct mf_filter *filter = NULL;
	struct mf_frames *frames = NULL;
	int code = mf_frames_create(moment->profile->objects, moment->profile->n_objects, &frames, err);

	if (!code)
		code = mf_filter_create(moment->options, moment->profile->pages, frames, moment->symbolizer, &filter,
					err);
	if (!code)
		code = print_tree(&view, frames, filter, err);
	if (filter)
		mf_filter_destroy(filter);
	mf_frames_destroy(frames);
	return code;
}
