// SPDX-License-Identifier: GPL-2.0
// The options of massif-ctl: a table with a parser, a range and a place for each.

#include "ctl/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/message.h"
#include "ctl/number.h"

#define ADVICE "Use --help for more information or consult the user manual."

struct option;

/*
 * Takes the text after the `=` (NULL: there was none). Returns 0; -EINVAL with the reason in @err;
 * or -ENOENT for a value that makes the option as a whole unknown.
 */
typedef int (*option_parser)(const struct option *option, struct mf_options *options,
			     const char *value, struct mf_error *err);

enum {
	OPTION_CORE = 1u << 0, /* says nothing about the profile: not in the file's first line */
	OPTION_BARE = 1u << 1, /* may, or must, stand without `=` */
};

struct option {
	const char *name;
	option_parser parse;
	size_t place; /* offset in struct mf_options */
	int64_t min, max;
	unsigned int flags;
	const char *values, *initial, *meaning; /* for the help */
};

#define AT(member) offsetof(struct mf_options, member)

static void *place_of(const struct option *option, struct mf_options *options)
{
	return (char *)options + option->place;
}

static int parse_boolean(const struct option *option, struct mf_options *options,
			 const char *value, struct mf_error *err)
{
	bool *place = place_of(option, options);

	if (value && strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return mf_error_set(err, -EINVAL,
				    "Invalid boolean value '%.400s' (should be 'yes' or 'no')",
				    value);
	*place = !value || strcmp(value, "yes") == 0;
	return 0;
}

static int parse_integer(const struct option *option, struct mf_options *options,
			 const char *value, struct mf_error *err)
{
	uint32_t *place = place_of(option, options);
	int64_t number;

	if (!mf_number_parse_integer(value, &number))
		return mf_error_set(err, -EINVAL, "Invalid integer value '%.400s'", value);
	if (number < option->min || number > option->max)
		return mf_error_set(err, -EINVAL,
				    "'%s' argument must be between %" PRId64 " and %" PRId64,
				    option->name, option->min, option->max);
	*place = (uint32_t)number;
	return 0;
}

static int parse_alignment(const struct option *option, struct mf_options *options,
			   const char *value, struct mf_error *err)
{
	uint32_t *place = place_of(option, options);
	int64_t number;

	/* Massif holds it in 32 bits without a sign: what does not fit is no integer to it. */
	if (!mf_number_parse_integer(value, &number) || number < 0 || number > UINT32_MAX)
		return mf_error_set(err, -EINVAL, "Invalid integer value '%.400s'", value);
	if (number < option->min || number > option->max || (number & (number - 1)))
		return mf_error_set(err, -EINVAL,
				    "Alignment must be a power of 2 in the range %" PRId64
				    "..%" PRId64 ".",
				    option->min, option->max);
	*place = (uint32_t)number;
	return 0;
}

/* A percentage in the option's range, or of any size if that is empty. */
static int parse_percentage(const struct option *option, struct mf_options *options,
			    const char *value, struct mf_error *err)
{
	double *place = place_of(option, options);
	double number;

	if (!mf_number_parse_decimal(value, &number))
		return mf_error_set(err, -EINVAL, "Invalid floating point value '%.400s'", value);
	if (option->min < option->max &&
	    (number < (double)option->min || number > (double)option->max))
		return mf_error_set(err, -EINVAL,
				    "%s must be between %" PRId64 ".0 and %" PRId64 ".0",
				    option->name, option->min, option->max);
	*place = number;
	return 0;
}

static int parse_time_unit(const struct option *option, struct mf_options *options,
			   const char *value, struct mf_error *err)
{
	static const struct {
		const char *name;
		enum mf_time_unit unit;
	} units[] = {
		{ "i", MF_TIME_INSTRUCTIONS },
		{ "ms", MF_TIME_MS },
		{ "B", MF_TIME_BYTES },
	};
	uint32_t *place = place_of(option, options);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(value, units[i].name) == 0) {
			*place = units[i].unit;
			options->time_unit_given = true;
			return 0;
		}
	}
	return -ENOENT;
}

static int parse_text(const struct option *option, struct mf_options *options, const char *value,
		      struct mf_error *err)
{
	*(const char **)place_of(option, options) = value;
	return 0;
}

/* Adds to a list, whose array mf_options_init() has made large enough for all words. */
static int parse_item(const struct option *option, struct mf_options *options, const char *value,
		      struct mf_error *err)
{
	struct mf_strings *list = place_of(option, options);

	((const char **)list->items)[list->count++] = value;
	return 0;
}

/* A word of its own; adds the option's @max to the place. */
static int parse_step(const struct option *option, struct mf_options *options, const char *value,
		      struct mf_error *err)
{
	if (value)
		return -ENOENT;
	*(int *)place_of(option, options) += (int)option->max;
	return 0;
}

static int parse_wish(const struct option *option, struct mf_options *options, const char *value,
		      struct mf_error *err)
{
	if (value)
		return -ENOENT;
	/* The first one counts. */
	if (options->wish == MF_OPTIONS_RUN)
		options->wish = (enum mf_options_wish)option->max;
	return 0;
}

static const struct option table[] = {
	{ "--pages-as-heap", parse_boolean, AT(pages_as_heap), 0, 0, OPTION_BARE, "yes|no", "no",
	  "profile pages (mmap, brk, ...) instead of malloc; needs massif.ko" },
	{ "--time-unit", parse_time_unit, AT(model.time_unit), 0, 0, 0, "i|ms|B", "i",
	  "time: instructions, milliseconds, or bytes allocated and freed" },
	{ "--threshold", parse_percentage, AT(report.threshold), 0, 100, 0, "0.0..100.0", "1.0",
	  "per cent of the total below which tree entries are merged" },
	{ "--depth", parse_integer, AT(report.depth), 1, 200, 0, "1..200", "30",
	  "frames of each stack that are kept" },
	{ "--alloc-fn", parse_item, AT(report.alloc_fns), 0, 0, 0, "name", "none",
	  "treat this function as an allocation function, too (repeatable)" },
	{ "--detailed-freq", parse_integer, AT(model.detailed_freq), 1, 1000000, 0, "1..1000000",
	  "10", "every which snapshot has a tree" },
	{ "--max-snapshots", parse_integer, AT(model.max_snapshots), 10, MF_SNAPSHOTS_MAX, 0,
	  "10..1000", "100", "how many snapshots are kept at most" },
	{ "--peak-inaccuracy", parse_percentage, AT(model.peak_inaccuracy), 0, 0, 0, "number",
	  "1.0", "per cent by which the recorded peak may be too low" },
	{ "--heap-admin", parse_integer, AT(model.heap_admin), 0, 1024, 0, "0..1024", "8",
	  "the allocator's overhead of each block, in bytes" },
	{ "--alignment", parse_alignment, AT(model.alignment), 16, 4096, 0, "16..4096", "16",
	  "alignment of heap blocks, a power of two" },
	{ "--massif-out-file", parse_text, AT(out_file), 0, 0, 0, "file", "massif.out.%p",
	  "where to write: %p process id, %n number of the file, %q{VAR} environment, %%" },
	{ "--show-below-main", parse_boolean, AT(report.show_below_main), 0, 0, OPTION_CORE,
	  "yes|no", "no", "keep the frames below main" },
	{ "--sym-offsets", parse_boolean, AT(report.sym_offsets), 0, 0, OPTION_CORE, "yes|no",
	  "no", "print function+offset" },
	{ "--fullpath-after", parse_item, AT(report.fullpath_after), 0, 0, OPTION_CORE, "text",
	  "none", "print the source files' directories after this (repeatable)" },
	{ "--demangle", parse_boolean, AT(symbolizer.demangle), 0, 0, OPTION_CORE, "yes|no", "yes",
	  "print C++ and Rust names as in the source" },
	{ "--read-inline-info", parse_boolean, AT(symbolizer.inlines), 0, 0, OPTION_CORE, "yes|no",
	  "yes", "print inlined calls" },
	{ "-q", parse_step, AT(verbosity), 0, -1, OPTION_CORE | OPTION_BARE, NULL, NULL,
	  "say only what went wrong" },
	{ "--quiet", parse_step, AT(verbosity), 0, -1, OPTION_CORE | OPTION_BARE, NULL, NULL,
	  "the same" },
	{ "-v", parse_step, AT(verbosity), 0, 1, OPTION_CORE | OPTION_BARE, NULL, NULL,
	  "say more" },
	{ "--verbose", parse_step, AT(verbosity), 0, 1, OPTION_CORE | OPTION_BARE, NULL, NULL,
	  "the same" },
	{ "-h", parse_wish, 0, 0, MF_OPTIONS_HELP, OPTION_CORE | OPTION_BARE, NULL, NULL,
	  "print this" },
	{ "--help", parse_wish, 0, 0, MF_OPTIONS_HELP, OPTION_CORE | OPTION_BARE, NULL, NULL,
	  "the same" },
	{ "--version", parse_wish, 0, 0, MF_OPTIONS_VERSION, OPTION_CORE | OPTION_BARE, NULL, NULL,
	  "print the version" },
};

#define TABLE_SIZE (sizeof(table) / sizeof(table[0]))

/* The option that @arg names, by its whole name; *@value is the text after `=`, or NULL. */
static const struct option *find_option(const char *arg, const char **value)
{
	size_t length = strcspn(arg, "=");

	*value = arg[length] == '=' ? arg + length + 1 : NULL;
	for (size_t i = 0; i < TABLE_SIZE; i++) {
		const struct option *option = &table[i];

		if (strlen(option->name) == length && strncmp(option->name, arg, length) == 0)
			return *value || option->flags & OPTION_BARE ? option : NULL;
	}
	return NULL;
}

void mf_options_explain(struct mf_error *err, const char *arg, const char *reason)
{
	mf_error_set(err, 0, "Bad option: %.400s\n%s\n" ADVICE, arg, reason);
}

static int refuse_unknown(const char *arg, struct mf_error *err)
{
	return mf_error_set(err, -EINVAL, "Unknown option: %.900s\n" ADVICE, arg);
}

/* Appends @arg as it was given: the file's reader may want to repeat the run. */
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
		.verbosity = MF_MESSAGE_NOTE,
		.out_file = "massif.out.%p",
		.model = {
			.peak_inaccuracy = 1.0,
			.max_snapshots = 100,
			.detailed_freq = 10,
			.time_unit = MF_TIME_INSTRUCTIONS,
			.heap_admin = 8,
			.alignment = 16,
		},
		.symbolizer = { .demangle = true, .inlines = true },
		.alloc_fns = calloc(room, sizeof(char *)),
		.fullpath_after = calloc(room, sizeof(char *)),
	};
	mf_report_options_init(&options->report);
	options->report.alloc_fns.items = options->alloc_fns;
	options->report.fullpath_after.items = options->fullpath_after;
	if (!options->alloc_fns || !options->fullpath_after) {
		mf_options_deinit(options);
		return mf_error_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

void mf_options_deinit(struct mf_options *options)
{
	free(options->desc);
	free(options->alloc_fns);
	free(options->fullpath_after);
}

static int parse_one(struct mf_options *options, const char *arg, struct mf_error *err)
{
	const struct option *option;
	struct mf_error reason = { "" };
	const char *value;
	int ret;

	option = find_option(arg, &value);
	if (!option)
		return refuse_unknown(arg, err);
	ret = option->parse(option, options, value, &reason);
	if (ret == -ENOENT)
		return refuse_unknown(arg, err);
	if (ret) {
		mf_options_explain(err, arg, reason.text);
		return ret;
	}
	return option->flags & OPTION_CORE ? 0 : add_to_desc(options, arg, err);
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
	for (size_t i = 0; i < TABLE_SIZE; i++) {
		const struct option *option = &table[i];
		char left[80];

		snprintf(left, sizeof(left), "%s%s%s", option->name, option->values ? "=" : "",
			 option->values ? option->values : "");
		fprintf(out, "    %-30s %s", left, option->meaning);
		if (option->initial)
			fprintf(out, " [%s]", option->initial);
		fputc('\n', out);
	}
}
