// SPDX-License-Identifier: GPL-2.0
// Changes a massif.out file written by Valgrind's Massif to what it would be if Massif, like massif-ctl, had checked
// for a peak at the end of the program.

#include "selftests/lib/diff_end.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SNAPSHOTS_MAX 1001
#define RULE	      "#-----------\n"
#define NUMBER	      RULE "snapshot="
#define PEAK	      "heap_tree=peak\n"

struct snapshot {
	/* positions in the file's text: the time= line, the heap_tree= line, and the end of the snapshot */
	const char *fields, *tree, *end;
	int64_t time;
	uint64_t total;
	bool is_peak, goes;
};

struct file {
	const char *text;
	struct snapshot snapshots[SNAPSHOTS_MAX];
	int n;
};

static uint64_t number_after(const char *text, const char *label)
{
	return strtoull(strstr(text, label) + strlen(label), NULL, 10);
}

static bool begins(const char *text, const char *word)
{
	return strncmp(text, word, strlen(word)) == 0;
}

static void parse(struct file *file, const char *text)
{
	const char *at = strstr(text, NUMBER);

	file->text = text;
	for (file->n = 0; at && file->n < SNAPSHOTS_MAX; file->n++) {
		struct snapshot *s = &file->snapshots[file->n];

		s->fields = strstr(at, "time=");
		s->tree = strstr(s->fields, "heap_tree=");
		at = strstr(s->fields, NUMBER);
		s->end = at ? at : s->fields + strlen(s->fields);
		s->time = (int64_t)number_after(s->fields, "time=");
		s->total = number_after(s->fields, "mem_heap_B=") +
			   number_after(s->fields, "mem_heap_extra_B=") +
			   number_after(s->fields, "mem_stacks_B=");
		s->is_peak = begins(s->tree, PEAK);
		s->goes = false;
	}
}

static double option(const char *const *options, const char *name, double value)
{
	for (; *options; options++) {
		if (begins(*options, name))
			value = atof(*options + strlen(name));
	}
	return value;
}

static int neighbour(const struct file *file, int i, int step)
{
	do
		i += step;
	while (file->snapshots[i].goes);
	return i;
}

/*
 * Removes half of the snapshots by repeatedly removing the one whose neighbours are closest in time; in a tie, the
 * first such snapshot.
 */
static void cull(struct file *file)
{
	struct snapshot *s = file->snapshots;

	for (int round = 0; round < file->n / 2; round++) {
		int64_t least = INT64_MAX;
		int victim = -1;

		for (int i = 1; i < file->n - 1; i++) {
			int64_t span;

			if (s[i].goes || s[i].is_peak)
				continue;
			span = s[neighbour(file, i, 1)].time - s[neighbour(file, i, -1)].time;
			if (span < least) {
				least = span;
				victim = i;
			}
		}
		if (victim < 0)
			return;
		s[victim].goes = true;
	}
}

/*
 * Prints the tree of @s. The heap_tree= line shows the current kind of the snapshot, which may differ from the kind in
 * the file that was read.
 */
static void print_tree(const struct snapshot *s, FILE *out)
{
	const char *tree = strchr(s->tree, '\n') + 1;
	bool is_empty = begins(s->tree, "heap_tree=empty");

	fprintf(out, "heap_tree=%s\n", is_empty ? "empty" : s->is_peak ? "peak" : "detailed");
	fwrite(tree, 1, (size_t)(s->end - tree), out);
}

static char *print(const struct file *file, const struct snapshot *end_tree)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int number = 0;

	if (!out)
		abort();
	fwrite(file->text, 1, (size_t)(strstr(file->text, NUMBER) - file->text), out);
	for (int i = 0; i < file->n; i++) {
		const struct snapshot *s = &file->snapshots[i];

		if (s->goes)
			continue;
		fprintf(out, NUMBER "%d\n" RULE, number++);
		fwrite(s->fields, 1, (size_t)(s->tree - s->fields), out);
		if (i == file->n - 1) {
			struct snapshot tree = *end_tree;

			tree.is_peak = true;
			print_tree(&tree, out);
		} else {
			print_tree(s, out);
		}
	}
	if (fclose(out))
		abort();
	return text;
}

char *diff_end_add(const char *theirs, const char *end, const char *ours, const char *const *options,
		   bool *added)
{
	struct file *file = malloc(sizeof(*file)), *other = malloc(sizeof(*other));
	const struct snapshot *tree;
	uint64_t peak = 0;
	char *text;

	if (!file || !other)
		abort();
	*added = false;
	parse(file, theirs);
	for (int i = 0; i < file->n; i++) {
		if (file->snapshots[i].is_peak)
			peak = file->snapshots[i].total;
	}
	parse(other, end ? end : ours ? ours : theirs);
	file->snapshots[file->n] = end ? other->snapshots[0] : file->snapshots[file->n - 1];
	tree = &file->snapshots[file->n];
	if (begins(tree->tree, "heap_tree=empty"))
		tree = &other->snapshots[other->n - 1];
	if (file->snapshots[file->n].total <=
	    peak + (uint64_t)((double)peak * option(options, "--peak-inaccuracy=", 1) / 100)) {
		text = strdup(theirs);
	} else {
		*added = true;
		for (int i = 0; i < file->n; i++)
			file->snapshots[i].is_peak = false;
		file->snapshots[file->n++].is_peak = true;
		if (file->n >= (int)option(options, "--max-snapshots=", 100))
			cull(file);
		text = print(file, tree);
	}
	free(other);
	free(file);
	return text;
}

/* Subtracts @by from the number after @label in @log. */
static void subtract(char *log, const char *label, unsigned long by)
{
	char *at = strstr(log, label), *end, number[16];
	size_t length;

	if (!at)
		return;
	at += strlen(label);
	at += strspn(at, " ");
	length = (size_t)snprintf(number, sizeof(number), "%lu", strtoul(at, &end, 10) - by);
	memmove(at + length, end, strlen(end) + 1);
	memcpy(at, number, length);
}

void diff_end_remove_from_log(char *log)
{
	char *end = strstr(log, "endPEAK "), *sums = strstr(log, "heap allocs:"), *start = end, *line;
	bool culls;

	if (!end)
		return;
	if (!sums)
		sums = log + strlen(log);
	/* If the line before the last snapshot's line reports skipped snapshots, remove that preceding line, too. */
	for (line = end - (end > log); line > log && line[-1] != '\n'; line--)
		;
	if (begins(line, "  (skipped "))
		start = line;
	culls = strstr(end, "Culling...") && strstr(end, "Culling...") < sums;
	memmove(start, sums, strlen(sums) + 1);
	subtract(log, "real snapshots:", 1);
	subtract(log, "detailed snapshots:", 1);
	subtract(log, "peak snapshots:", 1);
	subtract(log, "cullings:", culls);
}

void diff_end_uncount(char *log)
{
	subtract(log, "real snapshots:", 1);
	subtract(log, "detailed snapshots:", 1);
}
