// SPDX-License-Identifier: GPL-2.0
// The tree of a snapshot. A tree can be as deep as its file is long, with one level per line, so nothing here is
// recursive.

#include "tree.h"

#include <stdlib.h>
#include <string.h>

#include "failure.h"
#include "memory.h"
#include "output.h"
#include "syntax.h"
#include "text.h"

int mf_tree_check(struct mf_input *input, struct mf_number total, struct mf_failure *failure)
{
	uint64_t pending = 1;	/* number of nodes still to be read: the root, and children that nodes have announced */
	struct mf_node node;
	int ret;

	for (; pending; pending--) {
		ret = mf_syntax_node_read(input, total, &node, failure);
		if (ret)
			return ret;
		/*
		 * If the number of announced nodes overflows, UINT64_MAX does just as well as the exact number: no file
		 * contains that many nodes, so in either case the file ends too early, which is an error.
		 */
		if (__builtin_add_overflow(pending, node.children, &pending))
			pending = UINT64_MAX;
	}
	return 0;
}

/* A node whose children are being read. */
struct level {
	uint64_t children;
	uint64_t done;		/* number of children read so far */
	uint64_t hidden;	/* number of children whose percentage is below the threshold */
	struct mf_number hidden_bytes;
	struct mf_number bytes;
	size_t prefix;		/* length of the prefix of the lines of this node's children */
	bool shown;
};

/* A node's percentage and printed amount. They are cached, because most children have as many bytes as their parent. */
struct amount {
	double share;
	size_t digits_len;	/* length of @digits; 0 if nothing is cached */
	size_t len;
	char digits[20];
	char text[64];
};

struct printer {
	struct mf_output *out;
	struct mf_number total;
	double threshold;	/* nodes below this percentage are hidden */
	struct mf_text prefix;	/* prefix of the innermost level; it begins with the prefixes of all other levels */
	struct amount amount;	/* percentage and printed amount of the previous node */
	struct level *levels;
	size_t depth;
	size_t room;
};

static void deinit(struct printer *printer)
{
	mf_text_deinit(&printer->prefix);
	free(printer->levels);
}

/* Returns @bytes as a percentage of the snapshot's total, or 0 if the snapshot is empty. */
static double percent(const struct printer *printer, struct mf_number bytes)
{
	struct mf_number total = printer->total;

	if (!mf_number_is_true(total))
		return 0;
	/* Fast path for the usual case: below 2^53, integer arithmetic gives the same result as double arithmetic. */
	if (!bytes.is_real && !total.is_real && bytes.integer < (UINT64_C(1) << 53) / 100)
		return (double)(bytes.integer * 100) / (double)total.integer;
	bytes = mf_number_multiply(mf_number_of(100), bytes);
	return mf_number_double(mf_number_divide(bytes, total));
}

/* A percentage is at most 100, so a double is precise enough. */
static bool is_shown(const struct printer *printer, double share)
{
	if (!printer->depth || printer->threshold == 0)
		return true;
	return mf_number_is_true(printer->total) && share >= printer->threshold;
}

static void print_prefix(const struct printer *printer, size_t len)
{
	mf_output_bytes(printer->out, printer->prefix.data, len);
}

/*
 * Sets printer->amount to the number of bytes of @node. If it differs from the previous node's, clears the cached text.
 */
static void find_amount(struct printer *printer, const struct mf_node *node)
{
	struct amount *amount = &printer->amount;
	size_t len = node->digits_len;

	if (len == amount->digits_len && !memcmp(node->digits, amount->digits, len))
		return;
	amount->len = 0;
	amount->share = percent(printer, node->bytes);
	amount->digits_len = len <= sizeof(amount->digits) ? len : 0;
	memcpy(amount->digits, node->digits, amount->digits_len);
}

static void print_amount(struct printer *printer, const struct mf_node *node)
{
	struct amount *amount = &printer->amount;
	struct mf_output *out = printer->out;
	size_t start = out->len;

	if (amount->len) {
		mf_output_bytes(out, amount->text, amount->len);
		return;
	}
	mf_output_percent(out, amount->share);
	mf_output_bytes(out, "% (", 3);
	mf_output_commas(out, node->digits, node->digits_len, 0);
	mf_output_bytes(out, "B)", 2);
	/* Cache the text, unless the buffer has been flushed in the meantime and no longer contains all of it. */
	if (amount->digits_len && out->len > start && out->len - start <= sizeof(amount->text)) {
		amount->len = out->len - start;
		memcpy(amount->text, out->data + start, amount->len);
	}
}

static void print_node(struct printer *printer, const struct mf_node *node)
{
	struct mf_output *out = printer->out;

	if (printer->depth) {
		print_prefix(printer, printer->prefix.len);
		mf_output_bytes(out, "->", 2);
	}
	print_amount(printer, node);
	mf_output_bytes(out, node->details, node->details_len);
	mf_output_bytes(out, "\n", 1);
}

/* Reads the next node, prints it unless it is hidden, and makes it the innermost level. */
static int begin(struct printer *printer, struct mf_input *input, struct mf_failure *failure)
{
	struct level *parent = printer->depth ? &printer->levels[printer->depth - 1] : NULL;
	struct mf_node node;
	bool shown;
	int ret;

	ret = mf_syntax_node_read(input, printer->total, &node, failure);
	if (ret)
		return ret;
	if (parent) {
		parent->done++;
		printer->prefix.len = parent->prefix;
	}
	find_amount(printer, &node);
	shown = is_shown(printer, printer->amount.share);
	if (shown)
		print_node(printer, &node);
	/*
	 * The root's children have no prefix. The vertical line to a node's children ends at the last child in the
	 * input, even if that child is hidden.
	 */
	if (parent)
		mf_text_append(&printer->prefix, parent->done == parent->children ? "  " : "| ", 2);
	mf_memory_grow((void **)&printer->levels, &printer->room, printer->depth + 1,
		       sizeof(*printer->levels));
	printer->levels[printer->depth++] = (struct level){
		.children = node.children,
		.bytes = node.bytes,
		.prefix = printer->prefix.len,
		.shown = shown,
	};
	return 0;
}

static void print_hidden(const struct printer *printer, const struct level *level)
{
	struct mf_output *out = printer->out;
	char text[MF_NUMBER_TEXT];
	size_t len;

	print_prefix(printer, level->prefix);
	mf_output_bytes(out, "->", 2);
	mf_output_percent(out, percent(printer, level->hidden_bytes));
	mf_output_bytes(out, "% (", 3);
	len = mf_number_format(level->hidden_bytes, text);
	mf_output_commas(out, text, len, 0);
	mf_output_string(out, "B) in ");
	len = mf_number_format(mf_number_of(level->hidden), text);
	mf_output_bytes(out, text, len);
	mf_output_string(out, "+ places, all below ms_print's threshold (");
	mf_output_percent(out, printer->threshold);
	mf_output_string(out, "%)\n");
	print_prefix(printer, level->prefix);
	mf_output_bytes(out, "\n", 1);
}

/* Leaves the innermost level once all its children have been read. */
static void end(struct printer *printer)
{
	const struct level *level = &printer->levels[--printer->depth];
	struct level *parent = printer->depth ? &printer->levels[printer->depth - 1] : NULL;

	if (!level->shown) {
		parent->hidden++;
		parent->hidden_bytes = mf_number_add(parent->hidden_bytes, level->bytes);
		return;
	}
	if (level->hidden)
		print_hidden(printer, level);
	if (!level->children) {
		print_prefix(printer, level->prefix);
		mf_output_bytes(printer->out, "\n", 1);
	}
}

int mf_tree_print(struct mf_input *input, struct mf_number total, struct mf_number threshold,
		  struct mf_output *out, struct mf_failure *failure)
{
	__attribute__((cleanup(deinit))) struct printer printer = {
		.out = out,
		.total = total,
		.threshold = mf_number_double(threshold),
	};
	const struct level *level;
	int ret;

	ret = begin(&printer, input, failure);
	while (!ret && printer.depth) {
		level = &printer.levels[printer.depth - 1];
		if (level->done < level->children)
			ret = begin(&printer, input, failure);
		else
			end(&printer);
		/* The text printed for a deep tree can be much larger than the input, so stop at the first error. */
		if (!ret && out->error)
			ret = mf_output_flush(out, failure);
	}
	return ret;
}
