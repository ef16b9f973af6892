// SPDX-License-Identifier: GPL-2.0
// Parses the options of massif-ctl, and says what is wrong with them.

#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "valgrind_options.h"
#include "ctl/check/checker.h"
#include "ctl/message/message.h"
#include "ctl/files/recorder.h"
#include "nearest.h"
#include "ctl/message/unnamed.h"
#include "option_table.h"

#define ADVICE "Use --help for more information or consult the user manual."

/* Finds the option by its full name. *@value is set to the text after `=`, or NULL. */
static const struct mf_option *find_option(const char *arg, const char **value)
{
	size_t length = strcspn(arg, "=");

	*value = arg[length] == '=' ? arg + length + 1 : NULL;
	for (size_t i = 0; i < mf_option_table_size; i++) {
		const struct mf_option *option = &mf_option_table[i];

		if (strlen(option->name) == length && strncmp(option->name, arg, length) == 0)
			return option;
	}
	return NULL;
}

bool mf_options_has(const char *arg)
{
	const char *value;

	return find_option(arg, &value) != NULL;
}

int mf_options_check_mode(const struct mf_options *options, struct mf_error *err)
{
	const struct mf_budget *counted, *sampled = options->rss ? NULL : mf_checker_sampled(options->checker);

	if (sampled)
		return mf_error_set(err, -EINVAL, "The budget '%.400s' needs samples of the resident set: add --rss=yes.",
				    sampled->text);
	if (!mf_options_has_pages(options))
		return 0;
	if (options->stacks) {
		mf_options_explain(err, "--pages-as-heap=yes",
				   "Cannot be used together with --stacks=yes");
		return -EINVAL;
	}
	counted = mf_checker_counted(options->checker);
	if (counted)
		return mf_error_set(err, -EINVAL, "The budget '%.400s' needs heap mode: in pages mode, allocations are not "
						  "counted.", counted->text);
	if (!options->xtree)
		return 0;
	mf_options_explain(err,
			   options->xtree == MF_XTREE_FULL ? "--xtree-memory=full" :
							     "--xtree-memory=allocs",
			   "an execution tree needs heap mode");
	return -EINVAL;
}

void mf_options_explain(struct mf_error *err, const char *arg, const char *reason)
{
	mf_error_set(err, 0, "Bad option: %.400s\n%s\n" ADVICE, arg, reason);
}

/* Returns the option whose name is most similar to that of @arg; NULL if none is similar enough. */
static const char *suggest(const char *arg)
{
	size_t length = strcspn(arg, "=");
	struct mf_nearest nearest = { .word = arg, .length = length };

	for (size_t i = 0; i < mf_option_table_size; i++)
		mf_nearest_consider(&nearest, mf_option_table[i].name);
	return nearest.found;
}

static int refuse_unknown(const char *arg, struct mf_error *err)
{
	const char *name = suggest(arg);

	if (name)
		return mf_error_set(err, -EINVAL, "Unknown option: %.800s\nDid you mean '%s'?\n" ADVICE,
				    arg, name);
	return mf_error_set(err, -EINVAL, "Unknown option: %.900s\n" ADVICE, arg);
}

/* Prints "a|b|c" as "a, b or c". */
static void put_choices(FILE *out, const char *values)
{
	for (const char *bar; (bar = strchr(values, '|')); values = bar + 1)
		fprintf(out, "%.*s%s", (int)(bar - values), values, strchr(bar + 1, '|') ? ", " : " or ");
	fputs(values, out);
}

/* Reports that the value of @option is missing or wrong, or that @option takes no value. */
static int refuse_value(const struct mf_option *option, const char *arg, const char *value,
			struct mf_error *err)
{
	char reason[256] = "";
	FILE *out = fmemopen(reason, sizeof(reason), "w");

	if (!out)
		return mf_error_set(err, -ENOMEM, "out of memory");
	if (!option->values) {
		fprintf(out, "'%s' takes no value", option->name);
	} else if (!value) {
		fprintf(out, "'%s' needs = and a value: %s=%s", option->name, option->name,
			option->values);
	} else {
		fprintf(out, "'%s' can be ", option->name);
		put_choices(out, option->values);
	}
	fclose(out);
	mf_options_explain(err, arg, reason);
	return -EINVAL;
}

/* Appends @arg to the profile's desc line, unchanged, so that the run can be repeated. */
static int add_to_desc(struct mf_options *options, const char *arg, struct mf_error *err)
{
	char *longer;
	int length;

	length = options->desc ? asprintf(&longer, "%s %s", options->desc, arg) :
				 asprintf(&longer, "%s", arg);
	if (length < 0)
		return mf_error_set(err, -ENOMEM, "out of memory");
	free(options->desc);
	options->desc = longer;
	return 0;
}

int mf_options_init(struct mf_options *options, int argc, struct mf_error *err)
{
	size_t room = (size_t)argc + 1;

	*options = (struct mf_options){
		.heap = true,
		.verbosity = MF_MESSAGE_NOTE,
		.log_fd = STDERR_FILENO,
		.realloc_zero_frees = true,
		.client_requests = true,
		.out_file = "massif.out.%p",
		.xtree_file = "xtmemory.kcg.%p",
		.xtree_compress = true,
		.unwind_cache = true,
		.model = {
			.peak_inaccuracy = 1.0,
			.max_snapshots = 100,
			.detailed_freq = 10,
			.time_unit = MF_TIME_INSTRUCTIONS,
			.heap_admin = 8,
			.alignment = 16,
		},
		.symbolizer = { .demangle = true, .inlines = true, .names = mf_names_create(),
				.unreadable = mf_unnamed_say, .loose = mf_unnamed_say_loose },
		.embedded_suppressions = true,
		.held = mf_held_create(MF_HELD_MAX),
		.outputs = mf_outputs_create(),
		.recorder = mf_recorder_create(),
		.checker = mf_checker_create(),
		.alloc_fns = calloc(room, sizeof(char *)),
		.ignore_fns = calloc(room, sizeof(char *)),
		.fullpath_after = calloc(room, sizeof(char *)),
		.owned = calloc(room, sizeof(char *)),
		.words = calloc(room, sizeof(char *)),
		.matched = calloc(2 * room, sizeof(bool)),
	};
	mf_report_options_init(&options->report);
	options->report.alloc_fns.items = options->alloc_fns;
	options->report.alloc_fns.matched = options->matched;
	options->report.ignore_fns.matched = options->matched + room;
	options->report.ignore_fns.items = options->ignore_fns;
	options->report.fullpath_after.items = options->fullpath_after;
	if (!options->alloc_fns || !options->ignore_fns || !options->fullpath_after ||
	    !options->owned || !options->words || !options->matched || !options->symbolizer.names ||
	    !options->held || !options->outputs || !options->recorder || !options->checker) {
		mf_options_deinit(options);
		return mf_error_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

void mf_options_deinit(struct mf_options *options)
{
	mf_names_destroy(options->symbolizer.names);
	mf_held_destroy(options->held);
	mf_outputs_destroy(options->outputs);
	mf_recorder_destroy(options->recorder);
	mf_checker_destroy(options->checker);
	free(options->desc);
	free(options->matched);
	free(options->alloc_fns);
	free(options->ignore_fns);
	free(options->fullpath_after);
	for (size_t i = 0; i < options->n_owned; i++)
		free(options->owned[i]);
	free(options->owned);
	free(options->words);
	*options = (struct mf_options){ 0 };
}

static int parse_plain(struct mf_options *options, const char *arg, struct mf_error *err)
{
	const struct mf_option *option;
	struct mf_error reason = { "" };
	const char *value, *foreign;
	int ret;

	option = find_option(arg, &value);
	if (!option) {
		foreign = mf_valgrind_option_reason(arg);
		if (!foreign)
			return refuse_unknown(arg, err);
		mf_options_explain(err, arg, foreign);
		return -EINVAL;
	}
	if (!value && !(option->flags & MF_OPTION_BARE) && !mf_option_is_boolean(option))
		return refuse_value(option, arg, value, err);
	ret = option->parse(option, options, value, &reason);
	if (ret == -EDOM)
		return refuse_value(option, arg, value, err);
	if (ret) {
		mf_options_explain(err, arg, reason.text);
		return ret;
	}
	return option->flags & MF_OPTION_CORE ? 0 : add_to_desc(options, arg, err);
}

/*
 * Treats `--massif:depth=5` as `--depth=5`, and records it in that form in the profile's desc line. Options for other
 * tools are ignored.
 */
static int parse_prefixed(struct mf_options *options, const char *arg, const char *colon,
			  struct mf_error *err)
{
	static const char own[] = "--massif:";
	char *plain;

	if (strncmp(arg, own, strlen(own)) != 0)
		return 0;
	if (asprintf(&plain, "--%s", colon + 1) < 0)
		return mf_error_set(err, -ENOMEM, "out of memory");
	options->owned[options->n_owned++] = plain;
	return parse_plain(options, plain, err);
}

static int parse_one(struct mf_options *options, const char *arg, struct mf_error *err)
{
	size_t name = strcspn(arg, ":=");

	options->words[options->n_words++] = arg;
	if (strncmp(arg, "--", 2) == 0 && arg[name] == ':')
		return parse_prefixed(options, arg, arg + name, err);
	return parse_plain(options, arg, err);
}

bool mf_options_has_command_line_only(int argc, char *const *argv)
{
	bool only = false;

	for (int i = 0; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--command-line-only=yes") == 0)
			only = true;
		else if (strcmp(argv[i], "--command-line-only=no") == 0)
			only = false;
	}
	return only;
}

/* Inserts a sentence that says where the option was set, just before the final advice in the message. */
static void name_origin(struct mf_error *err, const char *origin)
{
	char *advice = strstr(err->text, ADVICE);
	mf_auto_free char *text = NULL;

	if (!advice || asprintf(&text, "%.*sThis was set in %s.\n" ADVICE, (int)(advice - err->text),
				err->text, origin) < 0)
		return;
	mf_error_set(err, 0, "%s", text);
}

int mf_options_parse_defaults(struct mf_options *options, const struct mf_defaults *defaults,
			      struct mf_error *err)
{
	for (size_t i = 0; i < defaults->count; i++) {
		const struct mf_default *item = &defaults->items[i];
		int ret;

		if (strcmp(item->word, "--") == 0)
			continue;
		ret = item->word[0] == '-' ? parse_one(options, item->word, err) :
					     refuse_unknown(item->word, err);
		if (ret) {
			name_origin(err, item->origin);
			return ret;
		}
	}
	return 0;
}

int mf_options_parse(struct mf_options *options, int argc, char *const *argv, int *used,
		     struct mf_error *err)
{
	int i, ret;

	for (i = 0; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--") == 0) {
			i++;
			break;
		}
		ret = parse_one(options, argv[i], err);
		if (ret)
			return ret;
	}
	*used = i;
	if (!options->desc)
		return add_to_desc(options, "(none)", err);
	return 0;
}

void mf_options_print_help(FILE *out)
{
	for (size_t i = 0; i < mf_option_table_size; i++) {
		const struct mf_option *option = &mf_option_table[i];
		char left[80];

		snprintf(left, sizeof(left), "%s%s%s", option->name, option->values ? "=" : "",
			 option->values ? option->values : "");
		fprintf(out, "    %-34s %s", left, option->meaning);
		if (option->initial)
			fprintf(out, " [%s]", option->initial);
		fputc('\n', out);
	}
}
