// SPDX-License-Identifier: GPL-2.0
// Writes collapsed stacks, the input of flamegraph.pl and similar programs.

#include "report/collapsed.h"

#include <inttypes.h>

#include "report/massif_file.h"

struct writer {
	FILE *out;
	const struct mf_report_options *options;
};

/* A semicolon would begin another call, and a line break another stack. */
static void print_name(FILE *out, const char *name)
{
	for (; *name; name++)
		putc(*name == ';' ? ':' : *name == '\n' || *name == '\r' ? ' ' : *name, out);
}

static int print_stack(void *data, const struct mf_moment_stack *stack, struct mf_error *err)
{
	const struct writer *w = data;
	char text[32];

	/* A few stacks can be a long text: notice early that the disk is full. */
	if (ferror(w->out))
		return mf_massif_file_end(w->out, err);
	for (size_t i = stack->n; i-- > 0;) {
		print_name(w->out, mf_call_name(&stack->calls[i], w->options, text));
		putc(i ? ';' : ' ', w->out);
	}
	fprintf(w->out, "%" PRIu64 "\n", stack->bytes);
	return 0;
}

int mf_collapsed_write(FILE *out, const struct mf_moment *moment, struct mf_error *err)
{
	struct writer w = { out, moment->options };

	return mf_moment_each(moment, print_stack, &w, err) ?: mf_massif_file_end(out, err);
}
