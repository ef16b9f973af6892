// SPDX-License-Identifier: GPL-2.0
// Writes verdicts: as a table for people, in TAP, and in the format of JUnit.

#include "verdict_writers.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"
#include "ctl/message/quantity.h"

#define SKIPPED "no recorded process is of this program"

/* A measured value or a limit, as the table shows it. */
struct figure {
	char text[64];
};

/* Sums of bytes in a hostile file can be greater than any number that a program can have. */
static uint64_t whole_of(double number)
{
	return number < 0x1p64 ? (uint64_t)number : UINT64_MAX;
}

static struct figure figure_of(const struct mf_budget *budget, double number)
{
	struct figure figure;

	if (budget->percent)
		snprintf(figure.text, sizeof(figure.text), "%.2f%%", number);
	else if (mf_measure_kinds[budget->measure].unit == MF_UNIT_BYTES)
		snprintf(figure.text, sizeof(figure.text), "%s", mf_quantity_bytes(whole_of(number)).text);
	else
		snprintf(figure.text, sizeof(figure.text), "%.0f", number);
	return figure;
}

/* The exact number, for programs: bytes without a unit. */
static struct figure exact_figure_of(const struct mf_budget *budget, double number)
{
	struct figure figure;

	snprintf(figure.text, sizeof(figure.text), budget->percent ? "%.4f" : "%.0f", number);
	return figure;
}

/* Prints " (pid 123)" if the pid is known. */
static void print_pid(FILE *out, const struct mf_verdict *verdict)
{
	if (verdict->pid)
		fprintf(out, " (pid %" PRIu64 ")", verdict->pid);
}

/* Calls @print for each line of @text. */
static void each_line(FILE *out, const char *text, void (*print)(FILE *out, const char *line, int length))
{
	while (text && *text) {
		const char *end = strchr(text, '\n');

		print(out, text, (int)(end - text));
		text = end + 1;
	}
}

static void print_table_line(FILE *out, const char *line, int length)
{
	fprintf(out, "                                   %.*s\n", length, line);
}

static void write_table(FILE *out, const struct mf_verdicts *verdicts)
{
	fprintf(out, "%-5s %10s %10s  %s\n", "", "measured", "limit", "budget");
	for (size_t i = 0; i < verdicts->count; i++) {
		const struct mf_verdict *verdict = &verdicts->list[i];
		const struct mf_budget *budget = verdict->budget;
		struct figure measured = figure_of(budget, verdict->measured), limit = figure_of(budget, budget->limit);

		if (!verdict->process) {
			fprintf(out, "%-5s %10s %10s  %s: " SKIPPED "\n", "-", "", limit.text, budget->text);
			continue;
		}
		fprintf(out, "%-5s %10s %10s  %s", verdict->over ? "OVER" : "ok", measured.text, limit.text,
			verdict->process);
		print_pid(out, verdict);
		fprintf(out, ": %s\n", budget->text);
		each_line(out, verdict->sites, print_table_line);
	}
	fprintf(out, "\n%zu kept, %zu over", verdicts->count - verdicts->n_over - verdicts->n_skipped, verdicts->n_over);
	if (verdicts->n_skipped)
		fprintf(out, ", %zu not checked", verdicts->n_skipped);
	putc('\n', out);
}

static void print_tap_line(FILE *out, const char *line, int length)
{
	fprintf(out, "# %.*s\n", length, line);
}

/* In TAP, a # in a description would begin a directive. */
static void print_tap_text(FILE *out, const char *text)
{
	for (; *text; text++)
		fprintf(out, *text == '#' || *text == '\\' ? "\\%c" : "%c", *text);
}

/* The pid is not in the description, so that a test has the same description in each run. */
static void print_tap_measured(FILE *out, const struct mf_verdict *verdict)
{
	fprintf(out, "# measured %s, limit %s", exact_figure_of(verdict->budget, verdict->measured).text,
		exact_figure_of(verdict->budget, verdict->budget->limit).text);
	print_pid(out, verdict);
	putc('\n', out);
}

static void write_tap(FILE *out, const struct mf_verdicts *verdicts)
{
	fprintf(out, "TAP version 13\n1..%zu\n", verdicts->count);
	for (size_t i = 0; i < verdicts->count; i++) {
		const struct mf_verdict *verdict = &verdicts->list[i];
		const struct mf_budget *budget = verdict->budget;

		fprintf(out, "%sok %zu - ", verdict->over ? "not " : "", i + 1);
		if (verdict->process) {
			print_tap_text(out, verdict->process);
			fputs(": ", out);
		}
		print_tap_text(out, budget->text);
		fputs(verdict->process ? "\n" : " # SKIP " SKIPPED "\n", out);
		if (verdict->process)
			print_tap_measured(out, verdict);
		each_line(out, verdict->sites, print_tap_line);
	}
}

/* Prints a character for XML. The texts have no control characters. */
static void print_xml_character(FILE *out, const unsigned char *text, size_t length)
{
	static const char *const entities[128] = { ['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;" };
	bool is_noncharacter = length == 3 && text[0] == 0xef && text[1] == 0xbf && text[2] >= 0xbe;

	if (!length || is_noncharacter)
		putc('?', out);
	else if (length == 1 && entities[*text])
		fputs(entities[*text], out);
	else
		fwrite(text, 1, length, out);
}

static void print_xml(FILE *out, const char *text, int length)
{
	const unsigned char *at = (const unsigned char *)text, *end = at + length;

	while (at < end) {
		size_t n = mf_utf8_length(at);

		print_xml_character(out, at, n);
		at += n ? n : 1;
	}
}

static void print_xml_text(FILE *out, const char *text)
{
	print_xml(out, text, (int)strlen(text));
}

static void print_xml_line(FILE *out, const char *line, int length)
{
	print_xml(out, line, length);
	putc('\n', out);
}

static void write_junit(FILE *out, const struct mf_verdicts *verdicts)
{
	fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		     "<testsuite name=\"massif\" tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\">\n",
		verdicts->count, verdicts->n_over, verdicts->n_skipped);
	for (size_t i = 0; i < verdicts->count; i++) {
		const struct mf_verdict *verdict = &verdicts->list[i];
		const struct mf_budget *budget = verdict->budget;

		fputs("  <testcase classname=\"", out);
		print_xml_text(out, verdict->process ?: budget->program ?: "massif");
		fputs("\" name=\"", out);
		print_xml_text(out, budget->text);
		fputs("\">\n", out);
		if (!verdict->process)
			fputs("    <skipped message=\"" SKIPPED "\"/>\n", out);
		if (verdict->over) {
			fprintf(out, "    <failure message=\"measured %s, limit %s",
				exact_figure_of(budget, verdict->measured).text,
				exact_figure_of(budget, budget->limit).text);
			print_pid(out, verdict);
			fputs("\">\n", out);
			each_line(out, verdict->sites, print_xml_line);
			fputs("    </failure>\n", out);
		}
		fputs("  </testcase>\n", out);
	}
	fputs("</testsuite>\n", out);
}

const struct mf_verdict_writer mf_verdict_writers[] = {
	{ "text", write_table },
	{ "tap", write_tap },
	{ "junit", write_junit },
};

const size_t mf_n_verdict_writers = sizeof(mf_verdict_writers) / sizeof(mf_verdict_writers[0]);

const struct mf_verdict_writer *mf_verdict_writers_find(const char *name)
{
	for (size_t i = 0; i < mf_n_verdict_writers; i++)
		if (strcmp(mf_verdict_writers[i].name, name) == 0)
			return &mf_verdict_writers[i];
	return NULL;
}
