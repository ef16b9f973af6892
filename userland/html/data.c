// SPDX-License-Identifier: GPL-2.0
// The data of a page: one JSON object with the profiles of all processes.

#include "html/data.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "html/calls.h"
#include "html/process.h"

/* With fewer nodes for each process, leave out processes instead. */
#define NODES_LEAST 64

/* For a node there are at least its depth and its call, with a comma after each. */
#define NODE_BYTES_LEAST 4

struct data {
	const struct mf_html_source *source;
	size_t size_max;
	struct mf_html_calls calls;
	/* The processes of both sides, those with the highest peaks first. */
	struct mf_html_process *processes[MF_HTML_SIDES];
	size_t n[MF_HTML_SIDES];
	size_t most_moments; /* of each process */
};

/* If not all samples of the resident set fit, try with so many of each process, then without. */
#define FEW_MOMENTS 8u


static int out_of_memory(struct mf_error *err)
{
	return mf_error_set(err, -ENOMEM, "out of memory");
}

static uint64_t peak_of(const struct mf_recorded *process)
{
	return mf_profile_total(mf_profile_peak(&process->profile, process->end));
}

static int compare_processes(const void *left, const void *right)
{
	const struct mf_html_process *a = left, *b = right;

	if (a->peak != b->peak)
		return a->peak < b->peak ? 1 : -1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* Lists the processes of a side, and reads those that fit in the list. */
static int read_side(struct data *data, int side, struct mf_error *err)
{
	size_t n = data->source->sides[side].n;
	struct mf_html_process *processes = calloc(n + 1, sizeof(*processes));

	data->processes[side] = processes;
	data->n[side] = n;
	if (!processes)
		return out_of_memory(err);
	for (size_t i = 0; i < n; i++) {
		processes[i].recorded = data->source->sides[side].processes[i];
		processes[i].peak = peak_of(processes[i].recorded);
		processes[i].number = i;
	}
	if (n)
		qsort(processes, n, sizeof(*processes), compare_processes);
	for (size_t i = 0; i < n && i < MF_HTML_PROCESSES_MAX; i++) {
		int code = mf_html_process_read(&processes[i], data->source->options, &data->calls, err);

		if (code)
			return code;
	}
	return 0;
}

static size_t count_nodes(const struct data *data, size_t n_processes)
{
	size_t n = 0;

	for (int side = 0; side < MF_HTML_SIDES; side++)
		for (size_t i = 0; i < data->n[side] && i < n_processes; i++)
			n += data->processes[side][i].tree.count;
	return n;
}

static int print_side(struct data *data, int side, FILE *out, size_t n_processes, double part, struct mf_error *err)
{
	for (size_t i = 0; i < data->n[side] && i < n_processes; i++) {
		struct mf_html_process *process = &data->processes[side][i];
		size_t n = (size_t)((double)process->tree.count * part), least = part < 1 ? NODES_LEAST : SIZE_MAX;
		int code;

		if (n < least && n_processes > 1)
			n = least;
		fputs(i ? ",\n" : "\n", out);
		process->most_moments = data->most_moments;
		code = mf_html_process_print(process, out, n, &data->calls, err);
		if (code)
			return code;
	}
	return 0;
}

static void print_source(const struct data *data, int side, FILE *out, size_t n_processes)
{
	size_t n = data->n[side];

	fputs("{\"file\":", out);
	mf_html_print_name(out, data->source->sides[side].file);
	fputs(",\"damage\":", out);
	mf_html_print_name(out, data->source->sides[side].damage);
	fprintf(out, ",\"hidden\":%zu,\"below\":", n > n_processes ? n - n_processes : 0);
	mf_html_print_number(out, n > n_processes ? data->processes[side][n_processes].peak : 0);
	fputs(",\"processes\":[", out);
}

/* Prints the data with the @part of the nodes, and of each side at most @n_processes. */
static int print(struct data *data, FILE *out, size_t n_processes, double part, struct mf_error *err)
{
	int code = 0;

	mf_html_calls_restart(&data->calls);
	fputs("{\"format\":\"massif-report\",\"version\":1,\"massif\":\"" MASSIF_VERSION "\",\"sides\":[", out);
	for (int side = 0; side < MF_HTML_SIDES && !code && data->source->sides[side].file; side++) {
		if (side)
			putc(',', out);
		print_source(data, side, out, n_processes);
		code = print_side(data, side, out, n_processes, part, err);
		fputs("]}", out);
	}
	putc(']', out);
	code = code ?: mf_html_calls_print(&data->calls, out, err);
	fputs("}\n", out);
	return code;
}

static int print_to_memory(struct data *data, size_t n_processes, double part, char **text, size_t *size,
			   struct mf_error *err)
{
	FILE *out = open_memstream(text, size);
	int code, failed;

	if (!out)
		return out_of_memory(err);
	code = print(data, out, n_processes, part, err);
	/* In this order: a stream that is closed cannot be asked. */
	failed = ferror(out);
	failed |= fclose(out);
	return failed && !code ? out_of_memory(err) : code;
}

/* Prints less and less until it fits. */
static int fit(struct data *data, char **text, size_t *size, struct mf_error *err)
{
	size_t n_processes = MF_HTML_PROCESSES_MAX, all = count_nodes(data, n_processes);
	/* If not even the least that could be said about each node would fit, do not try. */
	double part = all * NODE_BYTES_LEAST > data->size_max ? (double)(data->size_max / NODE_BYTES_LEAST) / (double)all : 1;

	for (;;) {
		size_t nodes = count_nodes(data, n_processes);
		int code = print_to_memory(data, n_processes, part, text, size, err);
		double fits = (double)data->size_max / ((double)*size + 1);
		size_t most = data->n[0] > data->n[1] ? data->n[0] : data->n[1];

		if (code || *size <= data->size_max)
			return code;
		n_processes = n_processes < most ? n_processes : most;
		if (data->most_moments)
			data->most_moments = data->most_moments > FEW_MOMENTS ? FEW_MOMENTS : 0;
		else if ((double)nodes * part > NODES_LEAST * (double)n_processes)
			part *= 0.95 * (fits < 0.1 ? 0.1 : fits);
		else if (n_processes > 1)
			n_processes /= 2;
		else if (part > 0)
			part = (double)nodes * part < 2 ? 0 : part / 2;
		else
			return 0;
		free(*text);
		*text = NULL;
	}
}

int mf_html_data_make(const struct mf_html_source *source, size_t size_max, char **text, size_t *size,
		      struct mf_error *err)
{
	struct data data = { .source = source, .size_max = size_max, .most_moments = SIZE_MAX };
	int code = 0;

	*text = NULL;
	for (int side = 0; side < MF_HTML_SIDES && !code && source->sides[side].file; side++)
		code = read_side(&data, side, err);
	if (!code)
		code = fit(&data, text, size, err);
	for (int side = 0; side < MF_HTML_SIDES; side++) {
		for (size_t i = 0; i < data.n[side] && data.processes[side]; i++)
			mf_html_process_deinit(&data.processes[side][i]);
		free(data.processes[side]);
	}
	mf_html_calls_deinit(&data.calls);
	if (code) {
		free(*text);
		*text = NULL;
	}
	return code;
}
