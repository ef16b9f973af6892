// SPDX-License-Identifier: GPL-2.0
// What the commands that read recordings have in common: their words, the process, the snapshot.

#include "query.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory_limit.h"
#include "base/printable.h"
#include "ctl/message/message.h"
#include "ctl/options/nearest.h"
#include "ctl/options/number.h"
#include "temporary.h"

/* The profiling options that concern the trees of a finished profile. */
static const char *const tree_options[] = {
	"--threshold", "--depth", "--alloc-fn", "--show-below-main", "--sym-offsets", "--fullpath-after",
	"--keep-debuginfo", "-q", "--quiet", "-v", "--verbose", "-h", "--help", NULL,
};

static bool is_among(const char *word, const char *const *names)
{
	size_t length = strcspn(word, "=");

	for (; *names; names++)
		if (strlen(*names) == length && strncmp(*names, word, length) == 0)
			return true;
	return false;
}

static int parse_pid(const char *text, struct mf_query *query, struct mf_error *err)
{
	int64_t number;

	if (!mf_number_parse_integer(text, &number) || number <= 0 || number > INT32_MAX)
		return mf_error_set(err, -EINVAL, "--pid=%.200s: not a process id", text);
	query->pid = (pid_t)number;
	return 0;
}

/* The units of times, by the end of their text, and what a unit is in the profile's. */
static const struct time_unit {
	const char *name;
	enum mf_time_unit unit;
	double factor;
} time_units[] = {
	{ "ms", MF_TIME_MS, 1 },
	{ "s", MF_TIME_MS, 1000 },
	{ "i", MF_TIME_INSTRUCTIONS, 1 },
	{ "Mi", MF_TIME_INSTRUCTIONS, 0x1p20 },
	{ "Gi", MF_TIME_INSTRUCTIONS, 0x1p30 },
	{ "B", MF_TIME_BYTES, 1 },
	{ "KB", MF_TIME_BYTES, 0x1p10 },
	{ "MB", MF_TIME_BYTES, 0x1p20 },
	{ "GB", MF_TIME_BYTES, 0x1p30 },
};

/* Parses a number and one of the units above. Returns the unit, or NULL. */
static const struct time_unit *parse_time(const char *text, double *time)
{
	size_t digits = strspn(text, "0123456789.");
	mf_auto_free char *number = strndup(text, digits);

	if (!number || *text < '0' || *text > '9' || !mf_number_parse_decimal(number, time))
		return NULL;
	for (size_t i = 0; i < sizeof(time_units) / sizeof(time_units[0]); i++)
		if (strcmp(text + digits, time_units[i].name) == 0)
			return &time_units[i];
	return NULL;
}

void mf_query_parse_time(const char *text, enum mf_time_unit *unit, double *time)
{
	const struct time_unit *found = parse_time(text, time);

	*unit = found ? found->unit : MF_TIME_MS;
	*time *= found ? found->factor : 0;
}

static int parse_at(const char *text, struct mf_query *query, struct mf_error *err)
{
	int64_t number;
	double time;

	if (strcmp(text, "peak") != 0 && strcmp(text, "end") != 0 && !parse_time(text, &time) &&
	    (!mf_number_parse_integer(text, &number) || number < 0))
		return mf_error_set(err, -EINVAL, "--at=%.200s: use peak, end, the number of a snapshot, or a time "
						  "such as 300ms, 1.5s, 20Mi or 10MB", text);
	query->at = text;
	return 0;
}

static int parse_format(const char *text, struct mf_query *query, struct mf_error *err)
{
	query->format = text;
	return 0;
}

static int parse_to(const char *text, struct mf_query *query, struct mf_error *err)
{
	query->to = text;
	return 0;
}

static int parse_value(const char *text, struct mf_query *query, struct mf_error *err)
{
	static const char *const names[MF_COUNTS] = {
		[MF_COUNT_ALLOCATIONS] = "calls",
		[MF_COUNT_ALLOCATED] = "allocated",
		[MF_COUNT_TEMPORARIES] = "temporary",
		[MF_COUNT_LIVE] = "live-blocks",
	};

	static const char *const resident[] = {
		[MF_RESIDENT_TOUCHED] = "resident",
		[MF_RESIDENT_UNTOUCHED] = "untouched",
		[MF_RESIDENT_PINNED] = "pinned",
	};

	for (size_t i = 0; i < sizeof(resident) / sizeof(resident[0]); i++) {
		query->resident = resident[i] && strcmp(text, resident[i]) == 0;
		query->number = (enum mf_resident_number)i;
		query->counted = false;
		if (query->resident)
			return 0;
	}
	query->counted = strcmp(text, "bytes") != 0;
	for (enum mf_count count = 0; query->counted && count < MF_COUNTS; count++) {
		if (strcmp(text, names[count]) == 0) {
			query->count = count;
			return 0;
		}
	}
	if (!query->counted)
		return 0;
	return mf_error_set(err, -EINVAL, "--value=%.200s: use bytes, calls, allocated, temporary or live-blocks; or, if the "
						  "resident set was sampled, resident, untouched or pinned", text);
}

static int parse_output(const char *text, struct mf_query *query, struct mf_error *err)
{
	query->output = text;
	return 0;
}

static int parse_by(const char *text, struct mf_query *query, struct mf_error *err)
{
	char names[160] = "";

	for (size_t i = 0, n = 0; i < MF_SITES_BYS; i++) {
		if (strcmp(text, mf_sites_by_names[i]) == 0) {
			query->by = (enum mf_sites_by)i;
			query->by_given = true;
			query->processes = query->by == MF_SITES_BY_PROCESS;
			return 0;
		}
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", i ? ", " : "", mf_sites_by_names[i]);
	}
	return mf_error_set(err, -EINVAL, "--by=%.200s: use one of %s", text, names);
}

static int parse_sort(const char *text, struct mf_query *query, struct mf_error *err)
{
	static const char *const names[MF_SITES_VALUES] = {
		[0] = "peak",
		[1] = "end",
		[MF_SITES_ALLOCATIONS] = "calls",
		[MF_SITES_ALLOCATED] = "allocated",
		[MF_SITES_TEMPORARIES] = "temporary",
		[MF_SITES_BLOCKS] = "blocks",
		[MF_SITES_LARGEST] = "largest",
	};

	query->growth = strcmp(text, "growth") == 0;
	if (query->growth)
		return 0;
	for (unsigned int i = 0; i < MF_SITES_VALUES; i++) {
		if (names[i] && strcmp(text, names[i]) == 0) {
			query->sort = i;
			return 0;
		}
	}
	return mf_error_set(err, -EINVAL, "--sort=%.200s: use peak, blocks, end, growth, calls, allocated, temporary or "
						  "largest", text);
}

static int parse_leaks(const char *text, struct mf_query *query, struct mf_error *err)
{
	query->leaks = true;
	return 0;
}

static int parse_inclusive(const char *text, struct mf_query *query, struct mf_error *err)
{
	query->inclusive = true;
	return 0;
}

static int parse_all_calls(const char *text, struct mf_query *query, struct mf_error *err)
{
	query->all_calls = true;
	return 0;
}

static int parse_tree(const char *text, struct mf_query *query, struct mf_error *err)
{
	query->tree = true;
	return 0;
}

static int parse_rss(const char *text, struct mf_query *query, struct mf_error *err)
{
	query->rss = true;
	return 0;
}

static int parse_sizes(const char *text, struct mf_query *query, struct mf_error *err)
{
	query->sizes = true;
	return 0;
}

static int parse_lifetimes(const char *text, struct mf_query *query, struct mf_error *err)
{
	query->lifetimes = true;
	query->lifetimes_in = text && strcmp(text, "allocations") == 0 ? MF_DETAIL_AGES : MF_DETAIL_LIFETIMES;
	if (!text || strcmp(text, "bytes") == 0 || query->lifetimes_in == MF_DETAIL_AGES)
		return 0;
	return mf_error_set(err, -EINVAL, "--lifetimes=%.200s: use bytes or allocations", text);
}

static int parse_temporary(const char *text, struct mf_query *query, struct mf_error *err)
{
	return mf_temporary_parse(text, query, err);
}

static int parse_top(const char *text, struct mf_query *query, struct mf_error *err)
{
	int64_t number;

	if (!mf_number_parse_integer(text, &number) || number < 1 || number > INT32_MAX)
		return mf_error_set(err, -EINVAL, "--top=%.200s: it needs a number of rows, at least 1", text);
	query->top = (uint32_t)number;
	return 0;
}

static int parse_min(const char *text, struct mf_query *query, struct mf_error *err)
{
	if (mf_number_parse_size(text, &query->min))
		return 0;
	return mf_error_set(err, -EINVAL, "--min=%.200s: it needs a size, such as 100, 4K or 1M", text);
}

static int parse_tolerance(const char *text, struct mf_query *query, struct mf_error *err)
{
	if (mf_number_parse_decimal(text, &query->tolerance) && query->tolerance >= 0)
		return 0;
	return mf_error_set(err, -EINVAL, "--tolerance=%.200s: it needs a percentage", text);
}

static int parse_thread(const char *text, struct mf_query *query, struct mf_error *err)
{
	query->selection.thread = text;
	return 0;
}

static int parse_through(const char *text, struct mf_query *query, struct mf_error *err)
{
	query->selection.through = text;
	return 0;
}

static int parse_filter(const char *text, struct mf_query *query, struct mf_error *err)
{
	char why[256];
	int code;

	if (query->filter)
		regfree(&query->regex);
	query->filter = NULL;
	code = regcomp(&query->regex, text, REG_EXTENDED | REG_NOSUB);
	if (code) {
		regerror(code, &query->regex, why, sizeof(why));
		return mf_error_set(err, -EINVAL, "--filter=%.400s: %s", text, why);
	}
	query->filter = text;
	return 0;
}

static int parse_debug_dir(const char *text, struct mf_query *query, struct mf_error *err)
{
	if (!*text)
		return mf_error_set(err, -EINVAL, "--debug-dir needs a directory");
	query->debug_dirs[query->n_debug_dirs++] = text;
	return 0;
}

static int parse_debuginfod(const char *text, struct mf_query *query, struct mf_error *err)
{
	query->debuginfod = true;
	query->debuginfod_urls = text;
	return 0;
}

static const struct own_option {
	const char *name;
	int (*parse)(const char *text, struct mf_query *query, struct mf_error *err);
	bool bare; /* it takes no value */
	bool optional; /* it takes a value only in the same word */
} own_options[] = {
	{ "--by", parse_by },
	{ "--sort", parse_sort },
	{ "--leaks", parse_leaks, .bare = true },
	{ "--tree", parse_tree, .bare = true },
	{ "--inclusive", parse_inclusive, .bare = true },
	{ "--all-calls", parse_all_calls, .bare = true },
	{ "--rss", parse_rss, .bare = true },
	{ "--sizes", parse_sizes, .bare = true },
	{ "--lifetimes", parse_lifetimes, .optional = true },
	{ "--temporary", parse_temporary },
	{ "--top", parse_top },
	{ "--filter", parse_filter },
	{ "--thread", parse_thread },
	{ "--through", parse_through },
	{ "--min", parse_min },
	{ "--tolerance", parse_tolerance },
	{ "--pid", parse_pid },
	{ "--at", parse_at },
	{ "--to", parse_to },
	{ "--value", parse_value },
	{ "--output", parse_output },
	{ "-o", parse_output },
	{ "--format", parse_format },
	{ "--debug-dir", parse_debug_dir },
	{ "--debuginfod", parse_debuginfod, .optional = true },
};

#define OWN_OPTIONS (sizeof(own_options) / sizeof(own_options[0]))

bool mf_query_is_bare(const char *name)
{
	for (size_t i = 0; i < OWN_OPTIONS; i++)
		if (strcmp(own_options[i].name, name) == 0)
			return own_options[i].bare;
	return false;
}

bool mf_query_is_optional(const char *name)
{
	for (size_t i = 0; i < OWN_OPTIONS; i++)
		if (strcmp(own_options[i].name, name) == 0)
			return own_options[i].optional;
	return false;
}

/*
 * Parses argv[*@i] if it is an option of the commands that read recordings; its value is in the same word, after =, or
 * in the next. Returns 1 if it was parsed, 0 if it is another option, or -EINVAL.
 */
static int parse_own(struct mf_query *query, int argc, char **argv, int *i, const char *const *allowed,
		     struct mf_error *err)
{
	const char *word = argv[*i], *value = strchr(word, '=');

	for (size_t k = 0; k < OWN_OPTIONS; k++) {
		const char *name = own_options[k].name;
		size_t length = strlen(name);

		if (strncmp(word, name, length) != 0 || (word[length] && word[length] != '=') ||
		    !is_among(name, allowed))
			continue;
		if (own_options[k].bare)
			return value ? mf_error_set(err, -EINVAL, "%s takes no value", name) :
				       own_options[k].parse(NULL, query, err) ?: 1;
		if (own_options[k].optional)
			return own_options[k].parse(value ? value + 1 : NULL, query, err) ?: 1;
		if (!value && *i + 1 < argc)
			value = argv[++*i];
		else
			value = value ? value + 1 : NULL;
		if (!value)
			return mf_error_set(err, -EINVAL, "%s needs a value", name);
		return own_options[k].parse(value, query, err) ?: 1;
	}
	return 0;
}

/* Returns the name of an option of the command that is similar to that of @word, or NULL. */
static const char *suggest(const char *word, const char *const *allowed)
{
	struct mf_nearest nearest = { .word = word, .length = strcspn(word, "=") };

	for (; *allowed; allowed++)
		mf_nearest_consider(&nearest, *allowed);
	for (const char *const *name = tree_options; *name; name++)
		mf_nearest_consider(&nearest, *name);
	return nearest.found;
}

/* Explains why the command does not take the option @word. */
static int refuse_option(const char *word, const char *const *allowed, struct mf_error *err)
{
	static const char help[] = "Use --help for more information.";
	const char *name;

	for (size_t i = 0; i < OWN_OPTIONS; i++)
		if (is_among(word, (const char *const[]){ own_options[i].name, NULL }))
			return mf_error_set(err, -EINVAL, "Bad option: %.400s\nIt is an option of other commands.\n%s", word,
					    help);
	if (mf_options_has(word))
		return mf_error_set(err, -EINVAL, "Bad option: %.400s\nIt has no effect on a profile that is already "
						  "recorded.\n%s", word, help);
	name = suggest(word, allowed);
	if (name)
		return mf_error_set(err, -EINVAL, "Unknown option: %.400s\nDid you mean '%s'?\n%s", word, name, help);
	return mf_error_set(err, -EINVAL, "Unknown option: %.400s\n%s", word, help);
}

static int parse_words(struct mf_query *query, int argc, char **argv, const struct mf_query_files *files,
		       const char *const *allowed, int *n_words, struct mf_error *err)
{
	bool only_files = false;

	for (int i = 0; i < argc; i++) {
		int code;

		if (!only_files && strcmp(argv[i], "--") == 0) {
			only_files = true;
			continue;
		}
		if (only_files || argv[i][0] != '-') {
			if (query->n_files == files->most)
				return mf_error_set(err, -EINVAL, "one file too many: '%.600s'", argv[i]);
			query->files[query->n_files++] = argv[i];
			continue;
		}
		code = parse_own(query, argc, argv, &i, allowed, err);
		if (code < 0)
			return code;
		if (code)
			continue;
		if (!is_among(argv[i], tree_options) && !is_among(argv[i], allowed))
			return refuse_option(argv[i], allowed, err);
		query->words[(*n_words)++] = argv[i];
	}
	if (query->n_files < files->least)
		return mf_error_set(err, -EINVAL, "%s\nUse --help for more information.",
				    query->n_files ? "no second recording specified" : "no recording specified");
	return 0;
}

/* What a stack belongs to as a whole, no call of it belongs to by itself. */
static int check_inclusive(const struct mf_query *query, struct mf_error *err)
{
	if (!query->inclusive || !query->by_given || query->by < MF_SITES_BY_STACK)
		return 0;
	return mf_error_set(err, -EINVAL, "--inclusive: a row must be a site, function, place, file or library; --by=%s is "
					  "none of these", mf_sites_by_names[query->by]);
}

int mf_query_parse_files(struct mf_query *query, int argc, char **argv, struct mf_query_files files,
			 const char *const *allowed, struct mf_error *err)
{
	int n_words = 0, used, code;

	*query = (struct mf_query){ 0 };
	/* What follows reads files of others. */
	mf_memory_limit();
	code = mf_options_init(&query->options, argc, err);
	if (code)
		return code;
	query->words = calloc((size_t)argc + 1, sizeof(*query->words));
	query->debug_dirs = calloc((size_t)argc + 1, sizeof(*query->debug_dirs));
	if (!query->words || !query->debug_dirs)
		return mf_error_set(err, -ENOMEM, "out of memory");
	code = parse_words(query, argc, argv, &files, allowed, &n_words, err);
	if (!code)
		code = mf_options_parse(&query->options, n_words, query->words, &used, err);
	if (!code)
		code = check_inclusive(query, err);
	if (!code)
		mf_message_set_level(query->options.verbosity);
	return code;
}

int mf_query_parse(struct mf_query *query, int argc, char **argv, size_t n_files, const char *const *allowed,
		   struct mf_error *err)
{
	return mf_query_parse_files(query, argc, argv, (struct mf_query_files){ n_files, n_files }, allowed, err);
}

void mf_query_release(struct mf_query *query)
{
	mf_options_deinit(&query->options);
	free(query->words);
	free(query->debug_dirs);
	if (query->filter)
		regfree(&query->regex);
}

static void list_processes(const struct mf_recording *recording, FILE *out)
{
	for (size_t i = 0; i < recording->n_processes; i++) {
		const struct mf_facts *facts = &recording->processes[i]->facts;
		mf_auto_free char *cmd = strndup(facts->cmd, 80);

		if (cmd)
			mf_printable_clean(cmd);
		fprintf(out, "\n  %8" PRIu64 "  %s", facts->pid, cmd ?: "?");
	}
}

struct mf_recorded *mf_query_process(const struct mf_query *query, const struct mf_recording *recording,
				     struct mf_error *err)
{
	mf_auto_free char *list = NULL;
	size_t size;
	FILE *out;

	/* If a pid was used again, the last process that had it is the one that is meant. */
	for (size_t i = recording->n_processes; i-- > 0;)
		if (recording->n_processes == 1 ? !query->pid || recording->processes[i]->facts.pid == (uint64_t)query->pid :
						  recording->processes[i]->facts.pid == (uint64_t)query->pid)
			return recording->processes[i];
	out = open_memstream(&list, &size);
	if (out) {
		list_processes(recording, out);
		fclose(out);
	}
	if (query->pid)
		mf_error_set(err, -ESRCH, "the recording has no process %d; it has:%.800s", (int)query->pid,
			     list ? list : "");
	else
		mf_error_set(err, -ESRCH, "the recording has several processes; choose one with --pid:%.800s",
			     list ? list : "");
	return NULL;
}

const struct mf_profile_snapshot *mf_query_peak(const struct mf_recorded *process)
{
	return mf_profile_peak(&process->profile, process->end);
}

/* Returns the last snapshot with a tree until @text, a time in the unit of the profile. */
static const struct mf_profile_snapshot *find_time(const struct mf_profile *profile, const char *text,
						   struct mf_error *err)
{
	static const char *const units[] = { "instructions (20Mi)", "milliseconds (300ms)", "bytes (10MB)" };
	const struct mf_profile_snapshot *found = NULL;
	double time;
	const struct time_unit *unit = parse_time(text, &time);

	if (!unit || unit->unit != profile->time_unit) {
		mf_error_set(err, -EINVAL, "--at=%.200s: the time of this profile is in %s", text, units[profile->time_unit]);
		return NULL;
	}
	for (size_t i = 0; i < profile->n_snapshots; i++)
		if (profile->snapshots[i].tree != MF_TREE_EMPTY &&
		    (double)profile->snapshots[i].time <= time * unit->factor)
			found = &profile->snapshots[i];
	if (!found)
		mf_error_set(err, -ESRCH, "--at=%.200s: there is no snapshot with a tree until then", text);
	return found;
}

const struct mf_profile_snapshot *mf_query_snapshot(const struct mf_query *query, const struct mf_recorded *process,
						    struct mf_error *err)
{
	const struct mf_profile *profile = &process->profile;
	int64_t number;

	if (!query->at || strcmp(query->at, "peak") == 0)
		return mf_query_peak(process);
	if (strcmp(query->at, "end") == 0)
		return process->end;
	if (query->at[strspn(query->at, "0123456789")])
		return find_time(profile, query->at, err);
	mf_number_parse_integer(query->at, &number);
	if ((uint64_t)number >= profile->n_snapshots) {
		mf_error_set(err, -ESRCH, "there is no snapshot %" PRId64 "; the profile has %zu, numbered from 0",
			     number, profile->n_snapshots);
		return NULL;
	}
	if (profile->snapshots[number].tree == MF_TREE_EMPTY) {
		mf_error_set(err, -ESRCH, "snapshot %" PRId64 " has no tree", number);
		return NULL;
	}
	return &profile->snapshots[number];
}

int mf_query_write(const struct mf_query *query, const struct mf_outfile_source *source, struct mf_error *err)
{
	mf_auto_free char *saved = NULL;
	int code;

	if (!query->output || strcmp(query->output, "-") == 0)
		return source->fill(stdout, source->data, err);
	code = mf_outfile_write(query->output, source, &saved, err);
	return saved ? -EIO : code;
}

void mf_query_say_damage(const char *path, const struct mf_recording *recording)
{
	if (recording->damage)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "'%s' is damaged: %s; what follows its first %zu process%s is left out",
			       path, recording->damage, recording->n_processes,
			       recording->n_processes == 1 ? "" : "es");
}

static bool is_by_thread(const struct mf_query *query)
{
	return query->by_given && (query->by == MF_SITES_BY_THREAD || query->by == MF_SITES_BY_THREAD_NAME);
}

bool mf_query_is_of_totals(const struct mf_query *query, const struct mf_profile *profile)
{
	return is_by_thread(query) && !profile->threads && profile->thread_totals;
}

/* Checks whether what the file knows about threads and functions answers the question. */
static int check_known(const struct mf_query *query, const struct mf_profile *profile, struct mf_error *err)
{
	bool of_moment = query->at || query->leaks || query->growth || query->tree || query->sizes ||
			 query->lifetimes || query->rss ||
			 query->selection.through || query->sort == MF_SITES_LIVE || query->sort >= MF_SITES_COUNTS_END;

	if (query->by_given && query->by == MF_SITES_BY_ALLOCATOR && !profile->functions)
		return mf_error_set(err, -ENODATA, "the file does not say which allocation functions were called: it is of "
						   "pages mode, a massif.out file, or of an earlier version of massif");
	if ((!is_by_thread(query) && !query->selection.thread) || profile->threads)
		return 0;
	if (!profile->thread_totals)
		return mf_error_set(err, -ENODATA, "the file does not say which thread has allocated what: make the recording "
						   "with --separate-threads=yes");
	if (query->takes_totals && !query->selection.thread && !of_moment)
		return 0;
	return mf_error_set(err, -ENODATA, "the file only says how much each thread has allocated since the start (show "
					   "--by=thread), not which code has: make the recording with --separate-threads=yes");
}

int mf_query_select(const struct mf_query *query, struct mf_recorded *const *processes, size_t n, struct mf_error *err)
{
	const struct mf_selection *selection = &query->selection;
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		int code = mf_temporary_apply(query, processes[i], err);

		if (code)
			return code;
		if (check_known(query, &processes[i]->profile, err))
			return -ENODATA;
		if (!selection->thread && !selection->through)
			continue;
		code = mf_selection_apply(selection, processes[i], &query->options.report, &any, err);
		if (code)
			return code;
	}
	if (any || !n || (!selection->thread && !selection->through))
		return 0;
	if (selection->through)
		return mf_error_set(err, -ENODATA, "--through=%.200s: no such stack has a function of this name; * and ? "
						   "stand for any text and character", selection->through);
	return mf_error_set(err, -ENODATA, "--thread=%.200s: no thread of this name or ID has allocated anything; "
					   "--by=thread shows all", selection->thread);
}
