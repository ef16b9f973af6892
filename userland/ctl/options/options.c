// SPDX-License-Identifier: GPL-2.0
// The table of massif-ctl's options: each has a parser, a range and a target field.

#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "valgrind_options.h"
#include "ctl/message/message.h"
#include "ctl/files/recorder.h"
#include "nearest.h"
#include "number.h"
#include "ctl/message/unnamed.h"
#include "model/store.h"

#define ADVICE "Use --help for more information or consult the user manual."

struct option;

/*
 * Parses @value, the text after the `=`, or NULL if there is none. Returns 0; -EINVAL with the reason in @err; or -EDOM
 * if the table does not list @value, in which case the caller prints the values listed there.
 */
typedef int (*option_parser)(const struct option *option, struct mf_options *options,
			     const char *value, struct mf_error *err);

enum {
	OPTION_CORE = 1u << 0, /* the option does not affect the profile, so the profile's desc line omits the option */
	OPTION_BARE = 1u << 1, /* the option may be given without `=` */
	OPTION_WIDE = 1u << 2, /* for a number that does not fit into 32 bits, say "out of range", not "invalid" */
};

struct option {
	const char *name;
	option_parser parse;
	size_t place; /* where the option's value is stored: an offset in struct mf_options */
	int64_t min, max;
	unsigned int flags;
	const char *values, *initial, *meaning; /* texts for --help */
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

	if (!value && !(option->flags & OPTION_BARE))
		return mf_error_set(err, -EINVAL, "Missing boolean value, did you mean '%s=yes'?",
				    option->name);
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

	/*
	 * Massif stores most integer options in a signed 32-bit integer, and reports numbers that do not fit as
	 * invalid.
	 */
	if (!mf_number_parse_integer(value, &number) ||
	    (!(option->flags & OPTION_WIDE) && number != (int32_t)number))
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

	/*
	 * Massif stores the alignment in an unsigned 32-bit integer, and rejects as invalid any number that does not
	 * fit.
	 */
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

/* Parses a percentage, which must be within the option's range if there is one. */
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
	return -EDOM;
}

static int parse_heap_extra(const struct option *option, struct mf_options *options,
			    const char *value, struct mf_error *err)
{
	if (strcmp(value, "massif") != 0 && strcmp(value, "real") != 0)
		return -EDOM;
	options->heap_extra_real = strcmp(value, "real") == 0;
	return 0;
}

static int parse_pages(const struct option *option, struct mf_options *options, const char *value,
		       struct mf_error *err)
{
	static const char *const names[] = {
		[MF_PAGES_VIRTUAL] = "virtual",
		[MF_PAGES_RESIDENT] = "resident",
		[MF_PAGES_BOTH] = "both",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(value, names[i]) != 0)
			continue;
		options->pages = (enum mf_pages_what)i;
		options->pages_as_heap = true;
		return 0;
	}
	return -EDOM;
}

static int parse_xtree(const struct option *option, struct mf_options *options, const char *value,
		       struct mf_error *err)
{
	static const char *const names[] = {
		[MF_XTREE_NONE] = "none",
		[MF_XTREE_ALLOCS] = "allocs",
		[MF_XTREE_FULL] = "full",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(value, names[i]) == 0) {
			options->xtree = (enum mf_xtree_request)i;
			return 0;
		}
	}
	return -EDOM;
}

static int parse_text(const struct option *option, struct mf_options *options, const char *value,
		      struct mf_error *err)
{
	*(const char **)place_of(option, options) = value;
	return 0;
}

/*
 * Parses comma-separated NAME=PATTERN pairs. As in Massif, only somalloc has a meaning; other names are accepted and
 * ignored.
 */
static int parse_synonyms(const struct option *option, struct mf_options *options,
			  const char *value, struct mf_error *err)
{
	static const char name[] = "somalloc";
	size_t length = strlen(name), item;

	options->somalloc = NULL;
	for (; *value && !options->somalloc; value += item + (value[item] == ',')) {
		item = strcspn(value, ",");
		if (strncmp(value, name, length) == 0 && (item == length || value[length] == '='))
			options->somalloc = value + length + (item > length);
	}
	if (options->somalloc && strcspn(options->somalloc, ",") >= MF_STORE_PATTERN_MAX)
		return mf_error_set(err, -EINVAL, "The pattern of somalloc is too long");
	return 0;
}

/* Appends @value to a list. mf_options_init() has already allocated enough room. */
static int parse_item(const struct option *option, struct mf_options *options, const char *value,
		      struct mf_error *err)
{
	struct mf_strings *list = place_of(option, options);

	((const char **)list->items)[list->count++] = value;
	return 0;
}

/* Parses --record, whose value, a file name, may be omitted. */
static int parse_record(const struct option *option, struct mf_options *options, const char *value,
			struct mf_error *err)
{
	options->record_file = value ?: MF_RECORDER_FILE;
	return 0;
}

/* Parses an option that takes no value, such as -v and -q: adds the number option->max to the option's target field. */
static int parse_step(const struct option *option, struct mf_options *options, const char *value,
		      struct mf_error *err)
{
	if (value)
		return -EDOM;
	*(int *)place_of(option, options) += (int)option->max;
	return 0;
}

/* Parses --log-fd, which overrides an earlier --log-file. */
static int parse_log_fd(const struct option *option, struct mf_options *options,
			const char *value, struct mf_error *err)
{
	options->log_file = NULL;
	return parse_integer(option, options, value, err);
}

static int parse_tool(const struct option *option, struct mf_options *options, const char *value,
		      struct mf_error *err)
{
	if (strcmp(value, "massif") == 0)
		return 0;
	return mf_error_set(err, -EINVAL, "the only tool is massif");
}

static int parse_request(const struct option *option, struct mf_options *options, const char *value,
		      struct mf_error *err)
{
	if (value)
		return -EDOM;
	/* If both --help and --version are given, the first one takes precedence. */
	if (options->wanted == MF_OPTIONS_RUN)
		options->wanted = (enum mf_options_request)option->max;
	return 0;
}

static const struct option table[] = {
	{ .name = "--heap", .parse = parse_boolean, .place = AT(heap),
	  .values = "yes|no", .initial = "yes",
	  .meaning = "count heap blocks (in pages mode: pages)" },
	{ .name = "--stacks", .parse = parse_boolean, .place = AT(stacks),
	  .values = "yes|no", .initial = "no",
	  .meaning = "also count the stack of each thread; measured whenever the thread "
		     "allocates or frees" },
	{ .name = "--pages-as-heap", .parse = parse_boolean, .place = AT(pages_as_heap),
	  .flags = OPTION_BARE,
	  .values = "yes|no", .initial = "no",
	  .meaning = "profile mapped pages (mmap, brk, ...) instead of malloc; needs massif.ko" },
	{ .name = "--pages", .parse = parse_pages,
	  .values = "virtual|resident|both", .initial = "virtual",
	  .meaning = "profile pages: mapped, resident, or both; implies --pages-as-heap=yes" },
	{ .name = "--time-unit", .parse = parse_time_unit, .place = AT(model.time_unit),
	  .values = "i|ms|B", .initial = "i; ms where instructions cannot be counted",
	  .meaning = "unit of time: instructions, milliseconds, or bytes allocated plus bytes "
		     "freed" },
	{ .name = "--threshold", .parse = parse_percentage, .place = AT(report.threshold),
	  .max = 100,
	  .values = "0.0..100.0", .initial = "1.0",
	  .meaning = "merge tree entries below this percentage of the total into one" },
	{ .name = "--depth", .parse = parse_integer, .place = AT(report.depth),
	  .min = 1, .max = 200,
	  .values = "1..200", .initial = "30",
	  .meaning = "maximum number of frames per call stack" },
	{ .name = "--alloc-fn", .parse = parse_item, .place = AT(report.alloc_fns),
	  .values = "name", .initial = "none",
	  .meaning = "treat the function as an allocation function as well (repeatable)" },
	{ .name = "--ignore-fn", .parse = parse_item, .place = AT(report.ignore_fns),
	  .values = "name", .initial = "none",
	  .meaning = "do not count what the function allocates (repeatable)" },
	{ .name = "--detailed-freq", .parse = parse_integer, .place = AT(model.detailed_freq),
	  .min = 1, .max = 1000000,
	  .values = "1..1000000", .initial = "10",
	  .meaning = "make every Nth snapshot a detailed one, with a tree" },
	{ .name = "--max-snapshots", .parse = parse_integer, .place = AT(model.max_snapshots),
	  .min = 10, .max = MF_SNAPSHOTS_MAX,
	  .values = "10..1000", .initial = "100",
	  .meaning = "keep at most this many snapshots" },
	{ .name = "--peak-inaccuracy", .parse = parse_percentage,
	  .place = AT(model.peak_inaccuracy),
	  .values = "number", .initial = "1.0",
	  .meaning = "allow the recorded peak to be this percentage below the true peak" },
	{ .name = "--end-snapshot", .parse = parse_boolean, .place = AT(end_snapshot),
	  .values = "yes|no", .initial = "no",
	  .meaning = "end the profile with a detailed snapshot; no: only if the end is the peak" },
	{ .name = "--heap-admin", .parse = parse_integer, .place = AT(model.heap_admin),
	  .max = 1024, .flags = OPTION_WIDE,
	  .values = "0..1024", .initial = "8",
	  .meaning = "assumed bookkeeping overhead of the allocator per block, in bytes" },
	{ .name = "--heap-extra", .parse = parse_heap_extra,
	  .values = "massif|real", .initial = "massif",
	  .meaning = "compute the allocator's overhead as Massif does, or measure it (real: "
		     "--heap-admin and --alignment have no effect)" },
	{ .name = "--alignment", .parse = parse_alignment, .place = AT(model.alignment),
	  .min = 16, .max = 4096,
	  .values = "16..4096", .initial = "16",
	  .meaning = "assumed alignment of heap blocks, in bytes; a power of two" },
	{ .name = "--realloc-zero-bytes-frees", .parse = parse_boolean,
	  .place = AT(realloc_zero_frees),
	  .values = "yes|no", .initial = "yes",
	  .meaning = "count realloc(p, 0) as a free, even if it returns a block" },
	{ .name = "--redzone-size", .parse = parse_integer, .place = AT(no_effect),
	  .max = 4096, .flags = OPTION_CORE,
	  .values = "0..4096", .initial = "0",
	  .meaning = "ignored: blocks have no red zones" },
	{ .name = "--soname-synonyms", .parse = parse_synonyms, .flags = OPTION_CORE,
	  .values = "somalloc=pattern", .initial = "all",
	  .meaning = "intercept allocation functions only in objects whose soname matches, "
		     "besides the C and C++ libraries (NONE: objects without a soname, such as "
		     "the program)" },
	{ .name = "--massif-out-file", .parse = parse_text, .place = AT(out_file),
	  .values = "file", .initial = "massif.out.%p",
	  .meaning = "write the profile to this file; %p: process id, %n: number of the file, "
		     "%q{VAR}: environment variable, %%: %" },
	{ .name = "--show-below-main", .parse = parse_boolean, .place = AT(report.show_below_main),
	  .flags = OPTION_CORE,
	  .values = "yes|no", .initial = "no",
	  .meaning = "show frames below main()" },
	{ .name = "--sym-offsets", .parse = parse_boolean, .place = AT(report.sym_offsets),
	  .flags = OPTION_CORE,
	  .values = "yes|no", .initial = "no",
	  .meaning = "show function names as function+offset" },
	{ .name = "--fullpath-after", .parse = parse_item, .place = AT(report.fullpath_after),
	  .flags = OPTION_CORE,
	  .values = "text", .initial = "none",
	  .meaning = "show source paths with their directories, starting after this text "
		     "(repeatable)" },
	{ .name = "--demangle", .parse = parse_boolean, .place = AT(symbolizer.demangle),
	  .flags = OPTION_CORE,
	  .values = "yes|no", .initial = "yes",
	  .meaning = "show C++ and Rust names as in the source" },
	{ .name = "--read-inline-info", .parse = parse_boolean, .place = AT(symbolizer.inlines),
	  .flags = OPTION_CORE,
	  .values = "yes|no", .initial = "yes",
	  .meaning = "show inlined calls as frames" },
	{ .name = "--merge-recursive-frames", .parse = parse_integer,
	  .place = AT(merge_recursive),
	  .max = 500, .flags = OPTION_CORE,
	  .values = "0..500", .initial = "0",
	  .meaning = "merge recursive cycles of up to this many frames" },
	{ .name = "--trace-children", .parse = parse_boolean, .place = AT(trace_children),
	  .flags = OPTION_CORE,
	  .values = "yes|no", .initial = "no",
	  .meaning = "also profile the programs that the program executes" },
	{ .name = "--trace-children-skip", .parse = parse_text, .place = AT(trace_children_skip),
	  .flags = OPTION_CORE,
	  .values = "patterns", .initial = "none",
	  .meaning = "do not profile executed programs whose path matches (comma-separated, with "
		     "* and ?)" },
	{ .name = "--trace-children-skip-by-arg", .parse = parse_text,
	  .place = AT(trace_children_skip_by_arg), .flags = OPTION_CORE,
	  .values = "patterns", .initial = "none",
	  .meaning = "do not profile executed programs with a matching argument" },
	{ .name = "--child-silent-after-fork", .parse = parse_boolean, .place = AT(child_silent),
	  .flags = OPTION_CORE,
	  .values = "yes|no", .initial = "no",
	  .meaning = "print no messages about forked children that do not exec; their files are still written" },
	{ .name = "--wait", .parse = parse_boolean, .place = AT(wait), .flags = OPTION_CORE,
	  .values = "yes|no", .initial = "no",
	  .meaning = "wait for all processes of the run to end, not only for the program" },
	{ .name = "--keep-debuginfo", .parse = parse_boolean, .place = AT(report.keep_unloaded),
	  .flags = OPTION_CORE,
	  .values = "yes|no", .initial = "yes",
	  .meaning = "keep the names of functions in unloaded code" },
	{ .name = "--unwind-cache", .parse = parse_boolean, .place = AT(unwind_cache),
	  .flags = OPTION_CORE,
	  .values = "yes|no", .initial = "yes",
	  .meaning = "cache unwind rules and names in ~/.cache/massif for later runs" },
	{ .name = "--xtree-memory", .parse = parse_xtree,
	  .values = "none|allocs|full", .initial = "none",
	  .meaning = "also write an execution tree: of the blocks live at the end, or with all "
		     "allocations and frees" },
	{ .name = "--xtree-memory-file", .parse = parse_text, .place = AT(xtree_file),
	  .values = "file", .initial = "xtmemory.kcg.%p",
	  .meaning = "write the execution tree to this file; in the format of ms_print if the "
		     "name contains .ms, else of Callgrind" },
	{ .name = "--xtree-compress-strings", .parse = parse_boolean, .place = AT(xtree_compress),
	  .values = "yes|no", .initial = "yes",
	  .meaning = "replace repeated names in the execution tree by numbers" },
	{ .name = "--record", .parse = parse_record, .flags = OPTION_CORE | OPTION_BARE,
	  .values = "file", .initial = "none; without a file " MF_RECORDER_FILE,
	  .meaning = "also write a recording of the whole profile, for massif-ctl show, diff and "
		     "export; it holds all processes of the run" },
	{ .name = "--num-callers", .parse = parse_integer, .place = AT(no_effect),
	  .min = 1, .max = 500, .flags = OPTION_CORE,
	  .values = "1..500", .initial = "12",
	  .meaning = "ignored: see --depth" },
	{ .name = "--tool", .parse = parse_tool, .flags = OPTION_CORE,
	  .values = "massif", .initial = "massif",
	  .meaning = "accepted for compatibility with Valgrind" },
	{ .name = "--command-line-only", .parse = parse_boolean, .place = AT(command_line_only),
	  .flags = OPTION_CORE,
	  .values = "yes|no", .initial = "no",
	  .meaning = "ignore ~/.massifrc, $MASSIF_OPTS and ./.massifrc" },
	{ .name = "--trace-malloc", .parse = parse_boolean, .place = AT(trace_malloc),
	  .values = "yes|no", .initial = "no",
	  .meaning = "print a line for each call of an allocation function" },
	{ .name = "--client-requests", .parse = parse_boolean, .place = AT(client_requests),
	  .flags = OPTION_CORE,
	  .values = "yes|no", .initial = "yes",
	  .meaning = "honour Valgrind client requests; no: leave the code of the program "
		     "unpatched" },
	{ .name = "--stats", .parse = parse_boolean, .place = AT(stats), .flags = OPTION_CORE,
	  .values = "yes|no", .initial = "no",
	  .meaning = "print statistics at the end" },
	{ .name = "--log-file", .parse = parse_text, .place = AT(log_file),
	  .flags = OPTION_CORE,
	  .values = "file", .initial = "none",
	  .meaning = "write messages to this file instead of standard error; % as in "
		     "--massif-out-file" },
	{ .name = "--log-fd", .parse = parse_log_fd, .place = AT(log_fd),
	  .max = INT32_MAX, .flags = OPTION_CORE,
	  .values = "number", .initial = "2",
	  .meaning = "write messages to this file descriptor" },
	{ .name = "-q", .parse = parse_step, .place = AT(verbosity),
	  .max = -1, .flags = OPTION_CORE | OPTION_BARE,
	  .meaning = "print only errors and warnings" },
	{ .name = "--quiet", .parse = parse_step, .place = AT(verbosity),
	  .max = -1, .flags = OPTION_CORE | OPTION_BARE,
	  .meaning = "same as -q" },
	{ .name = "-v", .parse = parse_step, .place = AT(verbosity),
	  .max = 1, .flags = OPTION_CORE | OPTION_BARE,
	  .meaning = "print more messages" },
	{ .name = "--verbose", .parse = parse_step, .place = AT(verbosity),
	  .max = 1, .flags = OPTION_CORE | OPTION_BARE,
	  .meaning = "same as -v" },
	{ .name = "-h", .parse = parse_request,
	  .max = MF_OPTIONS_HELP, .flags = OPTION_CORE | OPTION_BARE,
	  .meaning = "print this help" },
	{ .name = "--help", .parse = parse_request,
	  .max = MF_OPTIONS_HELP, .flags = OPTION_CORE | OPTION_BARE,
	  .meaning = "same as -h" },
	{ .name = "--help-debug", .parse = parse_request,
	  .max = MF_OPTIONS_HELP, .flags = OPTION_CORE | OPTION_BARE,
	  .meaning = "same as -h" },
	{ .name = "--version", .parse = parse_request,
	  .max = MF_OPTIONS_VERSION, .flags = OPTION_CORE | OPTION_BARE,
	  .meaning = "print the version" },
};

#define TABLE_SIZE (sizeof(table) / sizeof(table[0]))

/* Finds the option by its full name. *@value is set to the text after `=`, or NULL. */
static const struct option *find_option(const char *arg, const char **value)
{
	size_t length = strcspn(arg, "=");

	*value = arg[length] == '=' ? arg + length + 1 : NULL;
	for (size_t i = 0; i < TABLE_SIZE; i++) {
		const struct option *option = &table[i];

		if (strlen(option->name) == length && strncmp(option->name, arg, length) == 0)
			return option;
	}
	return NULL;
}

int mf_options_check_mode(const struct mf_options *options, struct mf_error *err)
{
	if (!mf_options_has_pages(options))
		return 0;
	if (options->stacks) {
		mf_options_explain(err, "--pages-as-heap=yes",
				   "Cannot be used together with --stacks=yes");
		return -EINVAL;
	}
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

	for (size_t i = 0; i < TABLE_SIZE; i++)
		mf_nearest_consider(&nearest, table[i].name);
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
static int refuse_value(const struct option *option, const char *arg, const char *value,
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
		.held = mf_held_create(MF_HELD_MAX),
		.outputs = mf_outputs_create(),
		.recorder = mf_recorder_create(),
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
	    !options->held || !options->outputs || !options->recorder) {
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
	const struct option *option;
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
	if (!value && !(option->flags & OPTION_BARE) && option->parse != parse_boolean)
		return refuse_value(option, arg, value, err);
	ret = option->parse(option, options, value, &reason);
	if (ret == -EDOM)
		return refuse_value(option, arg, value, err);
	if (ret) {
		mf_options_explain(err, arg, reason.text);
		return ret;
	}
	return option->flags & OPTION_CORE ? 0 : add_to_desc(options, arg, err);
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
	for (size_t i = 0; i < TABLE_SIZE; i++) {
		const struct option *option = &table[i];
		char left[80];

		snprintf(left, sizeof(left), "%s%s%s", option->name, option->values ? "=" : "",
			 option->values ? option->values : "");
		fprintf(out, "    %-34s %s", left, option->meaning);
		if (option->initial)
			fprintf(out, " [%s]", option->initial);
		fputc('\n', out);
	}
}
