// SPDX-License-Identifier: GPL-2.0
// Prints the resident sets of all processes of a recording.

#include "residency_list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/printable.h"
#include "ctl/message/quantity.h"
#include "profile/residency.h"

#define COLUMNS 52 /* in front of the command */

static const struct mf_residency *residency_of(const struct mf_recorded *process)
{
	const struct mf_residency *residency = process->profile.residency;

	return residency && residency->n_samples ? residency : NULL;
}

static uint64_t largest_of(const struct mf_recorded *process)
{
	return residency_of(process) ? mf_residency_rss(&residency_of(process)->peak.sample) : 0;
}

static int compare(const void *left, const void *right)
{
	const struct mf_recorded *a = *(struct mf_recorded *const *)left, *b = *(struct mf_recorded *const *)right;

	if (largest_of(a) != largest_of(b))
		return largest_of(a) < largest_of(b) ? 1 : -1;
	return a->facts.pid < b->facts.pid ? -1 : a->facts.pid > b->facts.pid;
}

static void print_process(const struct mf_terminal *terminal, const struct mf_recorded *process)
{
	const struct mf_residency *residency = residency_of(process);
	mf_auto_free char *cmd = strdup(process->facts.cmd);

	if (cmd)
		mf_printable_clean(cmd);
	fprintf(terminal->out, "%10s %10s %10s %8" PRIu64 " %8" PRIu64 "  ", mf_quantity_bytes(largest_of(process)).text,
		mf_quantity_bytes(residency->peak.sample.pss).text,
		mf_quantity_bytes(mf_residency_rss(&residency->last.sample)).text, process->facts.pid, process->facts.parent);
	mf_terminal_print_cut(terminal, cmd ? cmd : "?", mf_terminal_left(terminal, COLUMNS));
	putc('\n', terminal->out);
}

/* Returns how many processes have samples; these are in front then, those with the largest resident sets first. */
static size_t sort(const struct mf_recording *recording)
{
	size_t n = 0;

	if (recording->n_processes)
		qsort(recording->processes, recording->n_processes, sizeof(*recording->processes), compare);
	while (n < recording->n_processes && residency_of(recording->processes[n]))
		n++;
	return n;
}

int mf_residency_list_print(const struct mf_terminal *terminal, const struct mf_query *query,
			    const struct mf_recording *recording, struct mf_error *err)
{
	size_t n = sort(recording), shown = query->top && query->top < n ? query->top : n;
	FILE *out = terminal->out;
	char words[128];

	if (!n)
		return mf_error_set(err, -ENODATA, "the file has no samples of the resident set: make the recording with "
						   "massif-ctl record --rss=yes; of a program that ends at once there may "
						   "be none");
	fprintf(out, "%s%10s %10s %10s %8s %8s  process%s\n", mf_terminal_bold(terminal), "largest", "its Pss", "last", "pid",
		"parent", mf_terminal_plain(terminal));
	for (size_t i = 0; i < shown; i++)
		print_process(terminal, recording->processes[i]);
	if (shown < n)
		fprintf(out, "%32s %8s %8s  %zu more\n", "", "", "", n - shown);
	snprintf(words, sizeof(words), "The resident set%s of %zu process%s sampled; --rss --pid=PID shows one of them.",
		 n == 1 ? "" : "s", n, n == 1 ? " was" : "es were");
	putc('\n', out);
	mf_terminal_print_wrapped(terminal, words);
	if (recording->n_processes > n)
		fprintf(out, "Of %zu more there is no sample.\n", recording->n_processes - n);
	mf_terminal_print_wrapped(terminal, "Do not add them up: a page that several processes share is in the resident set of "
					    "each, and the largest samples are of different times. In Pss, such a page is "
					    "divided by the number of processes that have it.");
	return 0;
}
