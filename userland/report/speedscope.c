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

/*
 * The table of calls comes last in the file, when all of them have been numbered. The stacks, which can be many times as
 * large as the recording, are written as they are read; only the weights are collected in memory.
 */
struct writer {
	FILE *out, *weights;
	const struct mf_moment *moment;
	struct mf_call_table table;
	uint64_t total;
	size_t n;
};

static int take_stack(void *data, const struct mf_moment_stack *stack, struct mf_error *err)
{
	struct writer *w = data;

	/* Notice early that the disk is full. */
	if (ferror(w->out))
		return mf_massif_file_end(w->out, err);
	fputs(w->n ? ",\n[" : "[", w->out);
	for (size_t i = stack->n; i-- > 0;) {
		uint32_t number = mf_call_table_number(&w->table, &stack->calls[i]);

		if (number == UINT32_MAX)
			return mf_error_set(err, -ENOMEM, "out of memory");
		fprintf(w->out, "%" PRIu32 "%s", number, i ? "," : "]");
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

static void print_head(FILE *out, const char *name, bool in_blocks)
{
	fputs("{\"$schema\":\"" SCHEMA "\",\"exporter\":\"massif " MASSIF_VERSION "\",\"name\":", out);
	mf_json_print_text(out, name);
	fputs(",\"activeProfileIndex\":0,\"profiles\":[{\"type\":\"sampled\",\"name\":", out);
	mf_json_print_text(out, name);
	fprintf(out, ",\"unit\":\"%s\",\"startValue\":0,\"samples\":[\n", in_blocks ? "none" : "bytes");
}

static int print_rest(const struct writer *w, const char *weights, struct mf_error *err)
{
	fprintf(w->out, "],\n\"weights\":[%s],\"endValue\":%" PRIu64 "}],\"shared\":{\"frames\":[\n", weights, w->total);
	for (size_t i = 0; i < w->table.count; i++) {
		if (i)
			fputs(",\n", w->out);
		print_call(w->out, &w->table.calls[i], w->moment->options);
	}
	fputs("\n]}}\n", w->out);
	return mf_massif_file_end(w->out, err);
}

int mf_speedscope_write(FILE *out, const struct mf_moment *moment, struct mf_error *err)
{
	struct writer w = { .out = out, .moment = moment };
	char *weights = NULL;
	size_t n_weights;
	int code;

	w.weights = open_memstream(&weights, &n_weights);
	if (!w.weights)
		return mf_error_set(err, -ENOMEM, "out of memory");
	print_head(out, moment->profile->cmd, moment->in_blocks);
	code = mf_moment_each(moment, take_stack, &w, err);
	/* A stream in memory fails only for lack of memory, which closing it reports. */
	if (fclose(w.weights))
		code = mf_error_set(err, -ENOMEM, "out of memory");
	if (!code)
		code = print_rest(&w, weights, err);
	free(weights);
	mf_call_table_deinit(&w.table);
	return code;
}
