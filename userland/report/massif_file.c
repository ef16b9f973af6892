// SPDX-License-Identifier: GPL-2.0
// Writes massif.out files: a profile as text, byte for byte as Massif writes it.

#include "report/massif_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/filter.h"
#include "report/frames.h"
#include "report/location.h"
#include "report/percent.h"
#include "report/tree.h"

/* State shared by all lines of one file. */
struct writer {
	FILE *out;
	const struct mf_profile *profile;
	const struct mf_report_options *options;
	struct mf_symbolizer *symbolizer;
	struct mf_tree *tree;
	uint64_t cut; /* tree entries of the current snapshot with fewer bytes than this are merged */
};

const char *const mf_massif_file_units[] = {
	[MF_TIME_INSTRUCTIONS] = "i",
	[MF_TIME_MS] = "ms",
	[MF_TIME_BYTES] = "B",
};

const char *const mf_massif_file_trees[] = {
	[MF_TREE_EMPTY] = "empty",
	[MF_TREE_DETAILED] = "detailed",
	[MF_TREE_PEAK] = "peak",
};

static const char *root_text(const struct mf_profile *profile)
{
	static const char *const pages[] = {
		[MF_PAGES_VIRTUAL] = "(page allocation syscalls) mmap/mremap/brk, --alloc-fns, etc.",
		[MF_PAGES_RESIDENT] = "(resident pages) first touched by",
		[MF_PAGES_BOTH] = "(mapped pages) resident, first touched by; and not, mapped by",
	};

	return profile->pages ? pages[profile->what] :
				"(heap allocation functions) malloc/new/new[], --alloc-fns, etc.";
}

#define CLEANUP(destroy) __attribute__((cleanup(destroy)))

static void destroy_frames(struct mf_frames **frames)
{
	mf_frames_destroy(*frames);
}

static void destroy_filter(struct mf_filter **filter)
{
	mf_filter_destroy(*filter);
}

static void destroy_tree(struct mf_tree **tree)
{
	mf_tree_destroy(*tree);
}

/* The stream remembers that a write failed, but not why: write again to get the error. */
static int write_failed(FILE *out, struct mf_error *err)
{
	int code;

	clearerr(out);
	errno = 0;
	putc('\n', out);
	fflush(out);
	code = errno ? errno : EIO;
	return mf_error_set(err, -code, "cannot write the profile: %s", strerror(code));
}

static void begin_line(struct writer *w, unsigned int indent, size_t children, uint64_t bytes)
{
	fprintf(w->out, "%*sn%zu: %" PRIu64 " ", indent, "", children, bytes);
}

static void print_merged(struct writer *w, unsigned int indent, const struct mf_tree_child *merged)
{
	begin_line(w, indent, 0, merged->bytes);
	if (merged->places == 1)
		fputs("in 1 place, below massif's threshold (", w->out);
	else
		fprintf(w->out, "in %" PRIu32 " places, all below massif's threshold (",
			merged->places);
	mf_percent_print(w->out, w->options->threshold);
	fputs("%)\n", w->out);
}

static bool has_name(const struct writer *w, struct mf_frame frame)
{
	return w->options->keep_unloaded || !w->profile->objects[frame.object].unloaded;
}

/*
 * Prints the lines of a node that has @children children. There is one line per inlined call, innermost first. Each
 * line is the only child of the line before it; the last line has the node's own children. Returns the indentation of
 * those children.
 */
static unsigned int print_node(struct writer *w, unsigned int indent,
			       const struct mf_tree_child *entry, size_t children)
{
	static const struct mf_location unknown;
	const struct mf_location *locations = &unknown;
	size_t count = 1;

	if (has_name(w, entry->frame))
		count = mf_symbolizer_resolve(w->symbolizer, entry->frame, &locations);
	for (size_t i = 0; i < count; i++) {
		begin_line(w, indent++, i + 1 < count ? 1 : children, entry->bytes);
		mf_location_print(w->out, entry->frame.pc, &locations[i], w->options);
		putc('\n', w->out);
	}
	return indent;
}

static int print_entries(struct writer *w, unsigned int indent, const struct mf_tree_child *entries,
			 size_t n_entries, struct mf_error *err)
{
	for (size_t i = 0; i < n_entries; i++) {
		mf_auto_free struct mf_tree_child *below = NULL;
		const struct mf_tree_child *entry = &entries[i];
		unsigned int next;
		size_t n_below;
		int rc;

		if (entry->node == MF_TREE_MERGED) {
			print_merged(w, indent, entry);
			continue;
		}
		/* Notice early that the disk is full. */
		if (ferror(w->out))
			return write_failed(w->out, err);
		rc = mf_tree_children(w->tree, entry->node, w->cut, &below, &n_below, err);
		if (rc)
			return rc;
		next = print_node(w, indent, entry, n_below);
		rc = print_entries(w, next, below, n_below, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* Requests the names that print_entries() will need below @node. */
static int want_names(struct writer *w, uint32_t node, struct mf_error *err)
{
	mf_auto_free struct mf_tree_child *entries = NULL;
	size_t n_entries;
	int rc;

	rc = mf_tree_children(w->tree, node, w->cut, &entries, &n_entries, err);
	for (size_t i = 0; !rc && i < n_entries; i++) {
		if (entries[i].node == MF_TREE_MERGED)
			continue;
		if (has_name(w, entries[i].frame))
			mf_symbolizer_want(w->symbolizer, entries[i].frame);
		rc = want_names(w, entries[i].node, err);
	}
	return rc;
}

static int print_tree(struct writer *w, uint64_t total, const char *root, struct mf_error *err)
{
	mf_auto_free struct mf_tree_child *entries = NULL;
	size_t n_entries;
	int rc;

	rc = mf_tree_children(w->tree, MF_TREE_ROOT, w->cut, &entries, &n_entries, err);
	if (rc)
		return rc;
	begin_line(w, 0, n_entries, total);
	fprintf(w->out, "%s\n", root ? root : root_text(w->profile));
	return print_entries(w, 1, entries, n_entries, err);
}

/*
 * Returns the extra bytes of @s in the file. If the tree includes pages that are not resident, these are no extra bytes:
 * massif-visualizer takes mem_heap_B for the sum of the tree, and the snapshot with most of it for the peak.
 */
static uint64_t extra_of(const struct writer *w, const struct mf_profile_snapshot *s)
{
	return w->profile->what == MF_PAGES_BOTH ? 0 : s->extra_bytes;
}

/*
 * Sets the byte counts of the tree's nodes from @s, and returns the sum of these counts. The snapshot's heap bytes are
 * this sum, so that no entry can be larger than the total.
 */
static uint64_t weigh(struct writer *w, const struct mf_profile_snapshot *s)
{
	uint64_t total = mf_tree_weigh(w->tree, s);

	w->cut = mf_tree_cut(total, extra_of(w, s), s->stack_bytes, w->options->threshold);
	return total;
}

static int print_snapshot(struct writer *w, size_t number, struct mf_error *err)
{
	const struct mf_profile_snapshot *s = &w->profile->snapshots[number];
	uint64_t extra = extra_of(w, s), heap = s->heap_bytes + s->extra_bytes - extra;

	if (s->tree != MF_TREE_EMPTY)
		heap = weigh(w, s);

	fprintf(w->out,
		"#-----------\nsnapshot=%zu\n#-----------\n"
		"time=%" PRId64 "\n"
		"mem_heap_B=%" PRIu64 "\n"
		"mem_heap_extra_B=%" PRIu64 "\n"
		"mem_stacks_B=%" PRIu64 "\n"
		"heap_tree=%s\n",
		number, s->time, heap, extra, s->stack_bytes, mf_massif_file_trees[s->tree]);
	if (s->tree == MF_TREE_EMPTY)
		return 0;
	return print_tree(w, heap, s->root, err);
}

/* Looks up all names at once, which is faster than looking them up one by one. */
static int prepare_names(struct writer *w, struct mf_error *err)
{
	for (size_t i = 0; i < w->profile->n_snapshots; i++) {
		const struct mf_profile_snapshot *s = &w->profile->snapshots[i];
		int rc;

		if (s->tree == MF_TREE_EMPTY)
			continue;
		weigh(w, s);
		rc = want_names(w, MF_TREE_ROOT, err);
		if (rc)
			return rc;
	}
	mf_symbolizer_prepare(w->symbolizer);
	return 0;
}

static bool has_trees(const struct mf_profile *profile)
{
	for (size_t i = 0; i < profile->n_snapshots; i++) {
		if (profile->snapshots[i].tree != MF_TREE_EMPTY)
			return true;
	}
	return false;
}

/*
 * Massif writes a line break in an argument unchanged, and ms_print then cannot read the file. So we replace line
 * breaks.
 */
void mf_massif_file_print_head(FILE *out, const char *name, const char *text)
{
	fprintf(out, "%s: ", name);
	for (; *text; text++) {
		if (*text == '\n')
			fputs("\\n", out);
		else
			putc(*text, out);
	}
	putc('\n', out);
}

int mf_massif_file_end(FILE *out, struct mf_error *err)
{
	return fflush(out) || ferror(out) ? write_failed(out, err) : 0;
}

static int write_profile(struct writer *w, struct mf_error *err)
{
	const struct mf_profile *profile = w->profile;
	int rc;

	mf_massif_file_print_head(w->out, "desc", profile->desc);
	mf_massif_file_print_head(w->out, "cmd", profile->cmd);
	mf_massif_file_print_head(w->out, "time_unit", mf_massif_file_units[profile->time_unit]);
	for (size_t i = 0; i < profile->n_snapshots; i++) {
		if (ferror(w->out))
			return write_failed(w->out, err);
		rc = print_snapshot(w, i, err);
		if (rc)
			return rc;
	}
	return mf_massif_file_end(w->out, err);
}

int mf_massif_file_write(FILE *out, const struct mf_profile *profile,
			 const struct mf_report_options *options, struct mf_symbolizer *symbolizer,
			 struct mf_error *err)
{
	CLEANUP(destroy_frames) struct mf_frames *frames = NULL;
	CLEANUP(destroy_filter) struct mf_filter *filter = NULL;
	CLEANUP(destroy_tree) struct mf_tree *tree = NULL;
	struct writer w = {
		.out = out,
		.profile = profile,
		.options = options,
		.symbolizer = symbolizer,
	};
	int rc;

	if (has_trees(profile)) {
		rc = mf_frames_create(profile->objects, profile->n_objects, &frames, err);
		if (rc)
			return rc;
		rc = mf_filter_create(options, profile->pages, frames, symbolizer, &filter, err);
		if (rc)
			return rc;
		rc = mf_tree_create(profile, frames, filter, &tree, err);
		if (rc)
			return rc;
		w.tree = tree;
		rc = prepare_names(&w, err);
		if (rc)
			return rc;
	}
	return write_profile(&w, err);
}
