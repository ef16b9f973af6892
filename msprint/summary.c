// SPDX-License-Identifier: GPL-2.0
// The parts of the report before and after the graph.

#include "summary.h"

#include "number.h"
#include "output.h"
#include "profile.h"
#include "syntax.h"
#include "text.h"

void mf_summary_print_preamble(const struct mf_header *header, const struct mf_text *args,
			       struct mf_output *out)
{
	mf_output_rule(out);
	mf_output_string(out, "Command:            ");
	mf_output_bytes(out, header->command.data, header->command.len);
	/* The desc lines include their newlines. Without desc lines, no newline is printed before the next title. */
	mf_output_string(out, "\nMassif arguments:  ");
	mf_output_bytes(out, header->desc.data, header->desc.len);
	mf_output_string(out, "ms_print arguments:");
	mf_output_bytes(out, args->data, args->len);
	mf_output_string(out, "\n");
	mf_output_rule(out);
	mf_output_string(out, "\n\n");
}

static void print_count(struct mf_output *out, size_t count)
{
	char text[MF_NUMBER_TEXT];

	mf_output_bytes(out, text, mf_number_format(mf_number_of(count), text));
}

void mf_summary_print_list(const struct mf_profile *profile, struct mf_output *out)
{
	const char *separator = "";
	size_t i;

	mf_output_string(out, "\nNumber of snapshots: ");
	print_count(out, profile->count);
	mf_output_string(out, "\n Detailed snapshots: [");
	for (i = 0; i < profile->count; i++) {
		if (!profile->snapshots[i].has_tree)
			continue;
		mf_output_string(out, separator);
		print_count(out, i);
		if (profile->snapshots[i].is_peak)
			mf_output_string(out, " (peak)");
		separator = ", ";
	}
	mf_output_string(out, "]\n\n");
}
