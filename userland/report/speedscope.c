// SPDX-License-Identifier: GPL-2.0
// Writes the file format of speedscope: JSON with a table of calls, and stacks made of their numbers.

#include "report/speedscope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "report/call_table.h"
#include "report/json_text.h"
#include "report/massif_file.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

/* The table of calls comes first in the file, so the other parts are collected in memory. */
struct writer {
	const struct mf_moment *moment;
	struct mf_call_table table;
	FILE *samples, *weights;
	uint64_t total;
	size_t n;
};

static int take_stack(void *data, const struct mf_moment_stack *stack, struct mf_error *err)
{
	struct writer *w = data;

	fputs(w->n ? ",\n[" : "[", w->samples);
	for (size_t i = stack->n; i-- > 0;) {
		uint32_t number = mf_call_table_number(&w->table, &stack->calls[i]);

		if (number == UINT32_MAX)
			return mf_error_set(err, -ENOMEM, "out of memory");
		fprintf(w->samples, "%" PRIu32 "%s", number, i ? "," : "]");
	}
	fprintf(w->weights, "%s%" PRIu64, w->n ? "," : "", stack->bytes);
	w->total += stack->bytes;
	w->n++;
	return 0;
}

static void print_call(FILE *out, const struct mf_call *call, const struct mf_report_options *options)
{
	const struct mf_location *location = call->location;
	char text[32];

	fputs("{\"name\":", out);
	mf_json_print_text(out, mf_call_name(call, options, text));
	if (location->file) {
		fputs(",\"file\":", out);
		mf_json_print_text(out, location->file);
		fprintf(out, ",\"line\":%u", location->line);
	} else if (location->object) {
		fputs(",\"file\":", out);
		mf_json_print_text(out, location->object);
	}
	putc('}', out);
}

static int print_file(FILE *out, const struct writer *w, const char *samples, const char *weights,
		      struct mf_error *err)
{
	fputs("{\"$schema\":\"" SCHEMA "\",\"exporter\":\"massif " MASSIF_VERSION "\",\"name\":", out);
	mf_json_print_text(out, w->moment->profile->cmd);
	fputs(",\"activeProfileIndex\":0,\"shared\":{\"frames\":[\n", out);
	for (size_t i = 0; i < w->table.count; i++) {
		if (i)
			fputs(",\n", out);
		print_call(out, &w->table.calls[i], w->moment->options);
	}
	fputs("\n]},\"profiles\":[{\"type\":\"sampled\",\"name\":", out);
	mf_json_print_text(out, w->moment->profile->cmd);
	fprintf(out, ",\"unit\":\"bytes\",\"startValue\":0,\"endValue\":%" PRIu64 ",\"samples\":[\n%s],\n\"weights\":[%s]}]}\n",
		w->total, samples, weights);
	return mf_massif_file_end(out, err);
}

int mf_speedscope_write(FILE *out, const struct mf_moment *moment, struct mf_error *err)
{
	struct writer w = { .moment = moment };
	char *samples = NULL, *weights = NULL;
	size_t n_samples, n_weights;
	int code = -ENOMEM;

	w.samples = open_memstream(&samples, &n_samples);
	w.weights = open_memstream(&weights, &n_weights);
	if (w.samples && w.weights)
		code = mf_moment_each(moment, take_stack, &w, err);
	/* A stream in memory fails only for lack of memory, which closing it reports. */
	if ((w.samples && fclose(w.samples)) || (w.weights && fclose(w.weights)) || code == -ENOMEM)
		code = mf_error_set(err, -ENOMEM, "out of memory");
	if (!code)
		code = print_file(out, &w, samples, weights, err);
	free(samples);
	free(weights);
	mf_call_table_deinit(&w.table);
	return code;
}
