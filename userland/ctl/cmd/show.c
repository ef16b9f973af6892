// SPDX-License-Identifier: GPL-2.0
// massif-ctl show: what a recording says, on one screen.

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/printable.h"
#include "command.h"
#include "ctl/message/message.h"
#include "ctl/message/quantity.h"
#include "ctl/query/class_table.h"
#include "ctl/query/curve.h"
#include "ctl/query/query.h"
#include "ctl/query/residency_list.h"
#include "ctl/query/residency_view.h"
#include "ctl/query/size_table.h"
#include "ctl/query/tree_view.h"
#include "ctl/query/site_table.h"
#include "ctl/query/terminal.h"
#include "recording/reader.h"
#include "report/counted.h"
#include "report/runtime.h"

#define ROWS 8 /* height of the curve */

static int refuse(const struct mf_error *err)
{
	mf_message_say(MF_MESSAGE_ERROR, "%s", err->text);
	return 1;
}

/* Returns the ending of a noun after the number @n. */
static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void print_text(FILE *out, const char *text)
{
	mf_auto_free char *copy = strdup(text);

	if (copy)
		mf_printable_clean(copy);
	fputs(copy ?: "?", out);
}

/* Prints how the process ended, as far as that is known. */
static void print_ended(FILE *out, const struct mf_facts *facts)
{
	int status = (int)(facts->ended - 1);

	if (facts->ended && WIFSIGNALED(status))
		fprintf(out, ", killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (facts->ended)
		fprintf(out, ", exit status %d", WEXITSTATUS(status));
	else if (facts->cut_off)
		fputs(", killed or still running", out);
}

static void print_heading(const struct mf_terminal *terminal, const struct mf_facts *facts)
{
	fputs(mf_terminal_bold(terminal), terminal->out);
	print_text(terminal->out, facts->cmd);
	fprintf(terminal->out, "%s\n", mf_terminal_plain(terminal));
	if (facts->version) {
		fprintf(terminal->out, "process %" PRIu64, facts->pid);
		if (facts->parent)
			fprintf(terminal->out, ", child of %" PRIu64, facts->parent);
		fprintf(terminal->out, ", profiled for %s",
			mf_quantity_time((int64_t)(facts->took_ms < INT64_MAX ? facts->took_ms : 0), MF_TIME_MS).text);
		print_ended(terminal->out, facts);
		fputs("; massif ", terminal->out);
		print_text(terminal->out, facts->version);
		fputs(", Linux ", terminal->out);
		print_text(terminal->out, facts->kernel ?: "?");
		putc('\n', terminal->out);
	}
	if (strcmp(facts->desc, "(none)") != 0) {
		fputs("options: ", terminal->out);
		print_text(terminal->out, facts->desc);
		putc('\n', terminal->out);
	}
	putc('\n', terminal->out);
}

/* Prints a total and its parts, those that are not 0. */
static void print_total(FILE *out, const char *what, const struct mf_profile_snapshot *snapshot,
			const struct mf_profile *profile)
{
	bool is_mapped = profile->pages && profile->what == MF_PAGES_VIRTUAL;

	fprintf(out, "%-16s %10s  (%s", what, mf_quantity_bytes(mf_profile_total(snapshot)).text,
		mf_quantity_bytes(snapshot->heap_bytes).text);
	fputs(is_mapped ? " mapped" : profile->pages ? " resident" : " requested", out);
	if (snapshot->extra_bytes)
		fprintf(out, ", %s %s", mf_quantity_bytes(snapshot->extra_bytes).text,
			profile->pages ? "mapped only" : "overhead");
	if (snapshot->stack_bytes)
		fprintf(out, ", %s stacks", mf_quantity_bytes(snapshot->stack_bytes).text);
	putc(')', out);
}

static void print_temporaries(FILE *out, const struct mf_profile *profile)
{
	uint64_t allocations = 0, allocated = 0, temporaries = 0;

	for (size_t i = 0; i < profile->n_contexts; i++) {
		allocations += profile->counts[i].allocations;
		allocated += profile->counts[i].allocated;
		temporaries += profile->counts[i].temporaries;
	}
	fprintf(out, "allocated        %10s  in %" PRIu64 " block%s", mf_quantity_bytes(allocated).text, allocations,
		plural(allocations));
	if (allocations)
		fprintf(out, ", %.2f%% of %s temporary (%" PRIu64 ")", mf_quantity_share(temporaries, allocations),
			allocations == 1 ? "it" : "them", temporaries);
	if (allocations && profile->temporary_others)
		fprintf(out, ": freed after at most %" PRIu64 " other allocation%s of their thread", profile->temporary_others,
			plural(profile->temporary_others));
	putc('\n', out);
}

static void print_figures(const struct mf_terminal *terminal, const struct mf_recorded *process)
{
	const struct mf_profile_snapshot *peak = mf_query_peak(process);
	const struct mf_facts *facts = &process->facts;
	FILE *out = terminal->out;

	print_total(out, "peak", peak, &process->profile);
	fprintf(out, " at %s\n", mf_quantity_time(peak->time, process->profile.time_unit).text);
	/* A massif.out file need not have a tree of the end. */
	print_total(out, facts->version ? "held at the end" : "last tree", process->end, &process->profile);
	putc('\n', out);
	if (facts->version && !facts->pages)
		fprintf(out, "calls            %10" PRIu64 " allocation%s, %" PRIu64 " reallocation%s, %" PRIu64 " free%s\n",
			facts->allocations, plural(facts->allocations), facts->reallocations, plural(facts->reallocations),
			facts->frees, plural(facts->frees));
	if (process->profile.counts)
		print_temporaries(out, &process->profile);
	if (facts->lost)
		fprintf(out, "%" PRIu64 " event%s lost: the figures are too low\n", facts->lost,
			facts->lost == 1 ? " was" : "s were");
	putc('\n', out);
}

/* Chooses the snapshots of the two columns. Returns 0 or -ESRCH. */
static int choose_snapshots(const struct mf_query *query, struct mf_recorded *process, struct mf_site_table_part *part,
			    struct mf_error *err)
{
	bool from_first = query->growth && !query->at;

	*part = (struct mf_site_table_part){ process, { [1] = process->end } };
	part->snapshots[0] = from_first ? mf_profile_first(&process->profile, process->end) :
					  mf_query_snapshot(query, process, err);
	return part->snapshots[0] ? 0 : -ESRCH;
}

static struct mf_site_table make_table(const struct mf_query *query, const struct mf_site_table_part *parts,
				       size_t n_parts)
{
	const char *at = query->at ?: query->growth ? "first" : "peak";
	unsigned int sort = query->leaks || query->growth ? 1 : query->sort;

	/* How much a thread holds is not known then. */
	if (sort < MF_SITES_SIDES && mf_query_is_of_totals(query, &parts[0].process->profile))
		sort = MF_SITES_ALLOCATED;
	return (struct mf_site_table){
		.query = query,
		.parts = parts,
		.n_parts = n_parts,
		.titles = { at, parts[0].process->facts.version ? "end" : "last tree" },
		.sort = sort,
		.growth = query->growth,
		.by = query->by_given ? query->by : MF_SITES_BY_SITE,
	};
}

static int check_counts(const struct mf_query *query, const struct mf_recorded *process, struct mf_error *err)
{
	if (query->sort >= MF_SITES_COUNTS_END)
		return process->profile.details ? 0 :
						  mf_error_set(err, -ENODATA,
							       "the file has no %s: make the recording with "
							       "--record-detail=full",
							       query->sort == MF_SITES_BLOCKS ? "blocks of each moment" :
												"sizes of each stack's blocks");
	if (query->sort < MF_SITES_SIDES || process->profile.counts)
		return 0;
	return mf_error_set(err, -ENODATA, "the file has no calls: it is of pages mode, or a massif.out file; sort by peak, "
					   "end or growth");
}

static int show_table(const struct mf_terminal *terminal, const struct mf_site_table *table, struct mf_error *err)
{
	for (size_t i = 0; i < table->n_parts; i++)
		if (check_counts(table->query, table->parts[i].process, err))
			return -ENODATA;
	return mf_site_table_print(terminal, table, err);
}

/*
 * Shows the sizes of all blocks or, if the question is about some of them or about the code that has allocated them,
 * those that the recording has of each stack.
 */
static int show_sizes(const struct mf_query *query, const struct mf_terminal *terminal, const struct mf_recorded *process,
		      struct mf_error *err)
{
	if (query->by_given || query->selection.thread || query->selection.through)
		return mf_class_table_print(terminal, query, process, MF_DETAIL_SIZES, err);
	return mf_size_table_print(terminal, &process->profile, err);
}

/* Shows the call tree of a snapshot or, if --sort names a count, that of all blocks since the start. */
static int show_tree(const struct mf_query *query, const struct mf_terminal *terminal, struct mf_recorded *process,
		     const struct mf_profile_snapshot *snapshot, struct mf_error *err)
{
	const struct mf_moment moment = {
		&process->profile, snapshot, &query->options.report, process->symbolizer,
	};
	struct mf_counted counted;
	int code;

	if (check_counts(query, process, err))
		return -ENODATA;
	if (query->sort < MF_SITES_SIDES)
		return mf_tree_view_print(terminal, &moment, query->all_calls, err);
	if (query->sort == MF_SITES_LARGEST)
		return mf_error_set(err, -EINVAL, "--tree --sort=largest: the largest blocks of several stacks have no sum; "
						  "leave --tree out");
	if (query->sort == MF_SITES_BLOCKS)
		code = mf_counted_init_blocks(&counted, &moment, err);
	else
		code = mf_counted_init(&counted, &moment, mf_sites_count_of(query->sort), err);
	if (!code)
		code = mf_tree_view_print(terminal, &counted.moment, query->all_calls, err);
	mf_counted_deinit(&counted);
	return code;
}

/* Prints how much of what is held at the end the program never freed: the rest is no leak. */
static int print_leaks(const struct mf_query *query, const struct mf_terminal *terminal,
		       const struct mf_recorded *process, struct mf_error *err)
{
	const struct mf_moment moment = {
		&process->profile, process->end, &query->options.report, process->symbolizer,
	};
	struct mf_runtime runtime;
	int code;

	if (!query->leaks || !process->facts.version || process->profile.pages)
		return 0;
	code = mf_runtime_find(&moment, &runtime, err);
	if (!code) {
		fprintf(terminal->out, "\nnever freed      %10s", mf_quantity_bytes(runtime.leaked_bytes).text);
		if (process->profile.counts)
			fprintf(terminal->out, "  in %" PRIu64 " block%s", runtime.leaked_blocks,
				plural(runtime.leaked_blocks));
		if (runtime.kept_bytes)
			fprintf(terminal->out, "; the other %s are the C and C++ libraries' own, and no leak",
				mf_quantity_bytes(runtime.kept_bytes).text);
		putc('\n', terminal->out);
	}
	mf_runtime_free(&runtime);
	return code;
}

/* Names other views that answer the usual next questions. */
static void print_hint(const struct mf_query *query, const struct mf_terminal *terminal,
		       const struct mf_recorded *process)
{
	bool is_first = !query->leaks && !query->sort && !query->by_given;

	if (query->options.verbosity < MF_MESSAGE_NOTE)
		return;
	if (mf_query_is_of_totals(query, &process->profile))
		fputs("\nWhat each thread holds, and which code has allocated it: record with --separate-threads=yes.\n",
		      terminal->out);
	if ( query->growth || query->by >= MF_SITES_BY_STACK)
		return;
	fputs("\nMore: --tree (callers)", terminal->out);
	if (is_first && process->profile.counts)
		fputs(", --leaks (never freed), --sort=temporary (short-lived)", terminal->out);
	fputs(".\n", terminal->out);
	if (is_first)
		fputs("Charts for a browser: massif-ctl report.\n", terminal->out);
}

static int show_process(const struct mf_query *query, const struct mf_terminal *terminal,
			struct mf_recorded *process, struct mf_error *err)
{
	struct mf_site_table_part part;
	struct mf_site_table table;

	if (mf_query_select(query, &process, 1, err))
		return -ENODATA;
	if (query->rss) {
		print_heading(terminal, &process->facts);
		return mf_residency_view_print(terminal, query, process, err);
	}
	if (choose_snapshots(query, process, &part, err))
		return -ESRCH;
	table = make_table(query, &part, 1);
	print_heading(terminal, &process->facts);
	print_figures(terminal, process);
	mf_curve_draw(terminal, &process->profile, ROWS);
	if (query->sizes)
		return show_sizes(query, terminal, process, err);
	if (query->lifetimes)
		return mf_class_table_print(terminal, query, process, query->lifetimes_in, err);
	if (query->tree)
		return show_tree(query, terminal, process, part.snapshots[table.sort == 1], err);
	if (show_table(terminal, &table, err) || print_leaks(query, terminal, process, err))
		return -ENODATA;
	print_hint(query, terminal, process);
	return 0;
}

static uint64_t peak_of(const struct mf_recorded *process)
{
	return mf_profile_total(mf_query_peak(process));
}

/* The processes of a recording that has several, those with the highest peaks first. */
static int compare_processes(const void *left, const void *right)
{
	const struct mf_recorded *a = *(struct mf_recorded *const *)left, *b = *(struct mf_recorded *const *)right;
	return peak_of(a) < peak_of(b) ? 1 : -(peak_of(a) > peak_of(b));
}

static void list_processes(const struct mf_query *query, const struct mf_terminal *terminal,
			   const struct mf_recording *recording)
{
	size_t n = query->top ? query->top : query->processes ? SIZE_MAX : 10;
	uint64_t rest_of_peaks = 0, rest_of_ends = 0;
	FILE *out = terminal->out;

	qsort(recording->processes, recording->n_processes, sizeof(*recording->processes), compare_processes);
	fprintf(out, "%s%10s %10s %8s %8s  process%s\n", mf_terminal_bold(terminal), "peak", "end", "pid", "parent",
		mf_terminal_plain(terminal));
	for (size_t i = 0; i < recording->n_processes; i++) {
		const struct mf_recorded *process = recording->processes[i];
		mf_auto_free char *cmd = strdup(process->facts.cmd);

		if (i >= n) {
			rest_of_peaks += peak_of(process);
			rest_of_ends += mf_profile_total(process->end);
			continue;
		}
		if (cmd)
			mf_printable_clean(cmd);
		fprintf(out, "%10s %10s %8" PRIu64 " %8" PRIu64 "  ", mf_quantity_bytes(peak_of(process)).text,
			mf_quantity_bytes(mf_profile_total(process->end)).text, process->facts.pid, process->facts.parent);
		mf_terminal_print_cut(terminal, cmd ? cmd : "?", mf_terminal_left(terminal, 41));
		putc('\n', out);
	}
	if (recording->n_processes > n)
		fprintf(out, "%10s %10s %8s %8s  %zu more; --by=process shows all\n", mf_quantity_bytes(rest_of_peaks).text,
			mf_quantity_bytes(rest_of_ends).text, "", "", recording->n_processes - n);
	if (recording->n_processes == 1)
		fputs("\n1 process was recorded.\n", out);
	else
		fprintf(out, "\n%zu processes were recorded; --pid=PID shows one of them.\n", recording->n_processes);
	for (size_t i = 0; i < recording->n_processes; i++) {
		if (recording->processes[i]->profile.residency) {
			fputs("Their resident sets were sampled; --rss lists them.\n", out);
			break;
		}
	}
}

/* Shows the processes, and the sites of all of them together, those at the peak of each process. */
static int show_processes(const struct mf_query *query, const struct mf_terminal *terminal,
			  const struct mf_recording *recording, struct mf_error *err)
{
	mf_auto_free struct mf_site_table_part *parts = calloc(recording->n_processes + 1, sizeof(*parts));
	struct mf_site_table table;

	if (!parts)
		return mf_error_set(err, -ENOMEM, "out of memory");
	if (query->rss)
		return mf_residency_list_print(terminal, query, recording, err);
	list_processes(query, terminal, recording);
	if (query->processes || !recording->n_processes)
		return 0;
	if (mf_query_select(query, recording->processes, recording->n_processes, err))
		return -ENODATA;
	for (size_t i = 0; i < recording->n_processes; i++)
		if (choose_snapshots(query, recording->processes[i], &parts[i], err))
			return -ESRCH;
	fputs("\nAll processes together, each at its own peak:\n", terminal->out);
	table = make_table(query, parts, recording->n_processes);
	return show_table(terminal, &table, err);
}

static int show_file(struct mf_query *query)
{
	__attribute__((cleanup(mf_recording_release))) struct mf_recording recording = { 0 };
	struct mf_recorded *process = NULL;
	struct mf_terminal terminal;
	struct mf_error err;
	int code = 0;

	if (mf_recording_read(query->files[0], &recording, &err))
		return refuse(&err);
	mf_query_say_damage(query->files[0], &recording);
	if ((query->at || query->growth || query->tree || query->sizes ||
	     query->lifetimes) && !query->pid && recording.n_processes != 1) {
		mf_query_process(query, &recording, &err);
		return refuse(&err);
	}
	if (query->pid || (recording.n_processes == 1 && !query->processes)) {
		process = mf_query_process(query, &recording, &err);
		if (!process || (query->rss ? mf_residency_view_check(query, process, &err) != 0 :
					      !mf_query_snapshot(query, process, &err)))
			return refuse(&err);
	}
	mf_terminal_open(&terminal);
	if (process)
		code = show_process(query, &terminal, process, &err);
	else
		code = show_processes(query, &terminal, &recording, &err);
	if (mf_terminal_close(&terminal, &err) || code)
		return refuse(&err);
	return 0;
}

const char *const mf_command_show_words[] = {
	"--pid", "--at", "--by", "--sort", "--leaks", "--inclusive", "--all-calls", "--tree", "--rss", "--sizes",
	"--lifetimes", "--temporary", "--filter", "--thread", "--through", "--top", NULL,
};

int mf_command_show(int argc, char **argv)
{
	__attribute__((cleanup(mf_query_release))) struct mf_query query = { 0 };
	struct mf_error err;

	if (mf_query_parse(&query, argc, argv, 1, mf_command_show_words, &err))
		return refuse(&err);
	query.takes_totals = true;
	return show_file(&query);
}
