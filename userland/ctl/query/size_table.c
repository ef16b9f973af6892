// SPDX-License-Identifier: GPL-2.0
// Prints how many blocks of which sizes a program has allocated.

#include "size_table.h"

#include <errno.h>
#include <inttypes.h>

#include "ctl/message/quantity.h"

#define BAR 20u /* columns of the bar for all blocks */

/* In a file that is meant to deceive, sums can overflow: a part would be larger than the whole, and its bar endless. */
static uint64_t add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static void print_row(const struct mf_terminal *terminal, uint32_t class, const struct mf_size_class *row,
		      const struct mf_size_class *all)
{
	FILE *out = terminal->out;
	uint64_t columns = all->blocks ? (uint64_t)(mf_quantity_share(row->blocks, all->blocks) / 100 * BAR + 0.5) : 0;

	fprintf(out, "%2s%10s %12" PRIu64 " %7.2f%% %10s %7.2f%%", "<=", mf_quantity_bytes(mf_size_class_top(class)).text,
		row->blocks, mf_quantity_share(row->blocks, all->blocks), mf_quantity_bytes(row->bytes).text,
		mf_quantity_share(row->bytes, all->bytes));
	fputs(columns ? "  " : "", out);
	for (; columns; columns--)
		fputs(terminal->utf8 ? "█" : "#", out);
	putc('\n', out);
}

int mf_size_table_print(const struct mf_terminal *terminal, const struct mf_profile *profile, struct mf_error *err)
{
	const struct mf_size_class *sizes = profile->sizes;
	struct mf_size_class all = { 0 };
	uint32_t first = MF_SIZE_CLASSES, last = 0;

	if (!sizes)
		return mf_error_set(err, -ENODATA, "the file has no sizes of blocks: it is of pages mode, or a massif.out "
						   "file");
	for (uint32_t i = 0; i < MF_SIZE_CLASSES; i++) {
		all.blocks = add(all.blocks, sizes[i].blocks);
		all.bytes = add(all.bytes, sizes[i].bytes);
		if (sizes[i].blocks) {
			first = first < i ? first : i;
			last = i;
		}
	}
	fprintf(terminal->out, "%s%12s %12s %8s %10s %8s%s\n", mf_terminal_bold(terminal), "size", "blocks", "share",
		"allocated", "share", mf_terminal_plain(terminal));
	for (uint32_t i = first; i <= last && all.blocks; i++)
		print_row(terminal, i, &sizes[i], &all);
	fprintf(terminal->out, "%12s %12" PRIu64 " %7.2f%% %10s %7.2f%%\n", "in all", all.blocks, all.blocks ? 100.0 : 0.0,
		mf_quantity_bytes(all.bytes).text, all.bytes ? 100.0 : 0.0);
	return 0;
}
