// SPDX-License-Identifier: GPL-2.0
// The table of massif-ctl's options: each has a parser, a range, a target field and its texts for --help.

#include "option_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "ctl/check/checker.h"
#include "ctl/files/recorder.h"
#include "model/store.h"
#include "number.h"

#define AT(member) offsetof(struct mf_options, member)

static void *place_of(const struct mf_option *option, struct mf_options *options)
{
	return (char *)options + option->place;
}

static int parse_boolean(const struct mf_option *option, struct mf_options *options,
			 const char *value, struct mf_error *err)
{
	bool *place = place_of(option, options);

	if (!value && !(option->flags & MF_OPTION_BARE))
		return mf_error_set(err, -EINVAL, "Missing boolean value, did you mean '%s=yes'?",
				    option->name);
	if (value && strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return mf_error_set(err, -EINVAL,
				    "Invalid boolean value '%.400s' (should be 'yes' or 'no')",
				    value);
	*place = !value || strcmp(value, "yes") == 0;
	return 0;
}

static int parse_integer(const struct mf_option *option, struct mf_options *options,
			 const char *value, struct mf_error *err)
{
	uint32_t *place = place_of(option, options);
	int64_t number;

	/*
	 * Massif stores most integer options in a signed 32-bit integer, and reports numbers that do not fit as
	 * invalid.
	 */
	if (!mf_number_parse_integer(value, &number) ||
	    (!(option->flags & MF_OPTION_WIDE) && number != (int32_t)number))
		return mf_error_set(err, -EINVAL, "Invalid integer value '%.400s'", value);
	if (number < option->min || number > option->max)
		return mf_error_set(err, -EINVAL,
				    "'%s' argument must be between %" PRId64 " and %" PRId64,
				    option->name, option->min, option->max);
	*place = (uint32_t)number;
	return 0;
}

static int parse_alignment(const struct mf_option *option, struct mf_options *options,
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
static int parse_percentage(const struct mf_option *option, struct mf_options *options,
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

static int parse_time_unit(const struct mf_option *option, struct mf_options *options,
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

static int parse_heap_extra(const struct mf_option *option, struct mf_options *options,
			    const char *value, struct mf_error *err)
{
	if (strcmp(value, "massif") != 0 && strcmp(value, "real") != 0)
		return -EDOM;
	options->heap_extra_real = strcmp(value, "real") == 0;
	return 0;
}

static int parse_pages(const struct mf_option *option, struct mf_options *options, const char *value,
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

static int parse_xtree(const struct mf_option *option, struct mf_options *options, const char *value,
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

static int parse_text(const struct mf_option *option, struct mf_options *options, const char *value,
		      struct mf_error *err)
{
	*(const char **)place_of(option, options) = value;
	return 0;
}

/*
 * Parses comma-separated NAME=PATTERN pairs. As in Massif, only somalloc has a meaning; other names are accepted and
 * ignored.
 */
static int parse_synonyms(const struct mf_option *option, struct mf_options *options,
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
static int parse_item(const struct mf_option *option, struct mf_options *options, const char *value,
		      struct mf_error *err)
{
	struct mf_strings *list = place_of(option, options);

	((const char **)list->items)[list->count++] = value;
	return 0;
}

static int parse_record_detail(const struct mf_option *option, struct mf_options *options, const char *value,
			       struct mf_error *err)
{
	bool full = strcmp(value, "full") == 0;

	if (!full && strcmp(value, "basic") != 0)
		return -EDOM;
	options->record_details = full;
	return 0;
}

/* Parses --record, whose value, a file name, may be omitted. */
static int parse_record(const struct mf_option *option, struct mf_options *options, const char *value,
			struct mf_error *err)
{
	options->record_file = value ?: MF_RECORDER_FILE;
	return 0;
}

/* Parses --rss. What it finds is in the recording, so there is one. */
static int parse_rss(const struct mf_option *option, struct mf_options *options, const char *value,
		     struct mf_error *err)
{
	static const char *const words[] = {
		[MF_RSS_NO] = "no", [MF_RSS_ANY] = "yes", [MF_RSS_SAMPLED] = "sampled", [MF_RSS_MODULE] = "module",
	};
	size_t i = 0;

	while (i < sizeof(words) / sizeof(words[0]) && strcmp(value, words[i]) != 0)
		i++;
	if (i == sizeof(words) / sizeof(words[0]))
		return -EDOM;
	options->rss = (enum mf_rss_request)i;
	if (options->rss && !options->record_file)
		options->record_file = MF_RECORDER_FILE;
	return 0;
}

/* Parses --max-peak and the like: option->max is the measure that is limited. */
static int parse_limit(const struct mf_option *option, struct mf_options *options, const char *value,
		       struct mf_error *err)
{
	if (options->without_budgets)
		return 0;
	return mf_budgets_add(&options->checker->check.budgets, (enum mf_measure)option->max, value, err);
}

static int parse_budget(const struct mf_option *option, struct mf_options *options, const char *value,
			struct mf_error *err)
{
	if (options->without_budgets)
		return 0;
	return mf_budgets_read(&options->checker->check.budgets, value, err);
}

static int parse_suppressions(const struct mf_option *option, struct mf_options *options, const char *value,
			      struct mf_error *err)
{
	if (options->without_budgets)
		return 0;
	return mf_suppressions_read(&options->checker->check.suppressions, value, err);
}

/* Parses an option that takes no value, such as -v and -q: adds the number option->max to the option's target field. */
static int parse_step(const struct mf_option *option, struct mf_options *options, const char *value,
		      struct mf_error *err)
{
	if (value)
		return -EDOM;
	*(int *)place_of(option, options) += (int)option->max;
	return 0;
}

/* Parses --log-fd, which overrides an earlier --log-file. */
static int parse_log_fd(const struct mf_option *option, struct mf_options *options,
			const char *value, struct mf_error *err)
{
	options->log_file = NULL;
	return parse_integer(option, options, value, err);
}

static int parse_tool(const struct mf_option *option, struct mf_options *options, const char *value,
		      struct mf_error *err)
{
	if (strcmp(value, "massif") == 0)
		return 0;
	return mf_error_set(err, -EINVAL, "the only tool is massif");
}

static int parse_request(const struct mf_option *option, struct mf_options *options, const char *value,
		      struct mf_error *err)
{
	if (value)
		return -EDOM;
	/* If both --help and --version are given, the first one takes precedence. */
	if (options->wanted == MF_OPTIONS_RUN)
		options->wanted = (enum mf_options_request)option->max;
	return 0;
}

const struct mf_option mf_option_table[] = {
	{ .name = "--heap", .parse = parse_boolean, .place = AT(heap),
	  .values = "yes|no", .initial = "yes",
	  .meaning = "count heap blocks (in pages mode: pages)" },
	{ .name = "--stacks", .parse = parse_boolean, .place = AT(stacks),
	  .values = "yes|no", .initial = "no",
	  .meaning = "also count the stack of each thread; measured whenever the thread "
		     "allocates or frees" },
	{ .name = "--pages-as-heap", .parse = parse_boolean, .place = AT(pages_as_heap),
	  .flags = MF_OPTION_BARE,
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
	  .max = 1024, .flags = MF_OPTION_WIDE,
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
	  .max = 4096, .flags = MF_OPTION_CORE,
	  .values = "0..4096", .initial = "0",
	  .meaning = "ignored: blocks have no red zones" },
	{ .name = "--soname-synonyms", .parse = parse_synonyms, .flags = MF_OPTION_CORE,
	  .values = "somalloc=pattern", .initial = "all",
	  .meaning = "intercept allocation functions only in objects whose soname matches, "
		     "besides the C and C++ libraries (NONE: objects without a soname, such as "
		     "the program)" },
	{ .name = "--massif-out-file", .parse = parse_text, .place = AT(out_file),
	  .values = "file", .initial = "massif.out.%p",
	  .meaning = "write the profile to this file; %p: process id, %n: number of the file, "
		     "%q{VAR}: environment variable, %%: %" },
	{ .name = "--show-below-main", .parse = parse_boolean, .place = AT(report.show_below_main),
	  .flags = MF_OPTION_CORE,
	  .values = "yes|no", .initial = "no",
	  .meaning = "show frames below main()" },
	{ .name = "--sym-offsets", .parse = parse_boolean, .place = AT(report.sym_offsets),
	  .flags = MF_OPTION_CORE,
	  .values = "yes|no", .initial = "no",
	  .meaning = "show function names as function+offset" },
	{ .name = "--fullpath-after", .parse = parse_item, .place = AT(report.fullpath_after),
	  .flags = MF_OPTION_CORE,
	  .values = "text", .initial = "none",
	  .meaning = "show source paths with their directories, starting after this text "
		     "(repeatable)" },
	{ .name = "--demangle", .parse = parse_boolean, .place = AT(symbolizer.demangle),
	  .flags = MF_OPTION_CORE,
	  .values = "yes|no", .initial = "yes",
	  .meaning = "show C++ and Rust names as in the source" },
	{ .name = "--read-inline-info", .parse = parse_boolean, .place = AT(symbolizer.inlines),
	  .flags = MF_OPTION_CORE,
	  .values = "yes|no", .initial = "yes",
	  .meaning = "show inlined calls as frames" },
	{ .name = "--merge-recursive-frames", .parse = parse_integer,
	  .place = AT(merge_recursive),
	  .max = 500, .flags = MF_OPTION_CORE,
	  .values = "0..500", .initial = "0",
	  .meaning = "merge recursive cycles of up to this many frames" },
	{ .name = "--separate-threads", .parse = parse_boolean, .place = AT(separate_threads),
	  .flags = MF_OPTION_CORE,
	  .values = "yes|no", .initial = "no",
	  .meaning = "record which thread allocated what, for massif-ctl show --by=thread; heap mode only" },
	{ .name = "--trace-children", .parse = parse_boolean, .place = AT(trace_children),
	  .flags = MF_OPTION_CORE,
	  .values = "yes|no", .initial = "no",
	  .meaning = "also profile the programs that the program executes" },
	{ .name = "--trace-children-skip", .parse = parse_text, .place = AT(trace_children_skip),
	  .flags = MF_OPTION_CORE,
	  .values = "patterns", .initial = "none",
	  .meaning = "do not profile executed programs whose path matches (comma-separated, with "
		     "* and ?)" },
	{ .name = "--trace-children-skip-by-arg", .parse = parse_text,
	  .place = AT(trace_children_skip_by_arg), .flags = MF_OPTION_CORE,
	  .values = "patterns", .initial = "none",
	  .meaning = "do not profile executed programs with a matching argument" },
	{ .name = "--child-silent-after-fork", .parse = parse_boolean, .place = AT(child_silent),
	  .flags = MF_OPTION_CORE,
	  .values = "yes|no", .initial = "no",
	  .meaning = "print no messages about forked children that do not exec; their files are still written" },
	{ .name = "--wait", .parse = parse_boolean, .place = AT(wait), .flags = MF_OPTION_CORE,
	  .values = "yes|no", .initial = "no",
	  .meaning = "wait for all processes of the run to end, not only for the program" },
	{ .name = "--keep-debuginfo", .parse = parse_boolean, .place = AT(report.keep_unloaded),
	  .flags = MF_OPTION_CORE,
	  .values = "yes|no", .initial = "yes",
	  .meaning = "keep the names of functions in unloaded code" },
	{ .name = "--unwind-cache", .parse = parse_boolean, .place = AT(unwind_cache),
	  .flags = MF_OPTION_CORE,
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
	{ .name = "--rss", .parse = parse_rss, .flags = MF_OPTION_CORE,
	  .values = "yes|no|sampled|module", .initial = "no",
	  .meaning = "also sample the resident set while the program runs, for massif-ctl show --rss; heap mode only; yes: "
		     "with massif.ko, if it is loaded, record which code touched the pages; sampled: without; module: "
		     "only with it" },
	{ .name = "--record-detail", .parse = parse_record_detail, .flags = MF_OPTION_CORE,
	  .values = "basic|full", .initial = "basic",
	  .meaning = "full: also record the sizes and lifetimes of each stack's blocks, and how many are live at "
		     "the peak; heap mode only" },
	{ .name = "--record", .parse = parse_record, .flags = MF_OPTION_CORE | MF_OPTION_BARE,
	  .values = "file", .initial = "none; without a file " MF_RECORDER_FILE,
	  .meaning = "also write a recording of the whole profile, for massif-ctl show, diff and "
		     "export; it holds all processes of the run" },
	{ .name = "--max-peak", .parse = parse_limit, .max = MF_MEASURE_PEAK, .flags = MF_OPTION_CORE,
	  .values = "size", .initial = "none",
	  .meaning = "budget: the most that each process may hold at its peak; if one is over a budget, "
		     "the exit status is 1" },
	{ .name = "--max-end", .parse = parse_limit, .max = MF_MEASURE_END, .flags = MF_OPTION_CORE,
	  .values = "size", .initial = "none",
	  .meaning = "budget: the most that each process may hold at its end" },
	{ .name = "--max-allocations", .parse = parse_limit, .max = MF_MEASURE_ALLOCATIONS, .flags = MF_OPTION_CORE,
	  .values = "number", .initial = "none",
	  .meaning = "budget: the most blocks that each process may allocate" },
	{ .name = "--max-allocated", .parse = parse_limit, .max = MF_MEASURE_ALLOCATED, .flags = MF_OPTION_CORE,
	  .values = "size", .initial = "none",
	  .meaning = "budget: the sum of their sizes" },
	{ .name = "--max-temporary", .parse = parse_limit, .max = MF_MEASURE_TEMPORARY, .flags = MF_OPTION_CORE,
	  .values = "number or percentage", .initial = "none",
	  .meaning = "budget: how many of these blocks may be temporary" },
	{ .name = "--max-leak-sites", .parse = parse_limit, .max = MF_MEASURE_LEAK_SITES, .flags = MF_OPTION_CORE,
	  .values = "number", .initial = "none",
	  .meaning = "budget: how many sites may hold bytes at the end" },
	{ .name = "--max-rss", .parse = parse_limit, .max = MF_MEASURE_RSS, .flags = MF_OPTION_CORE,
	  .values = "size", .initial = "none",
	  .meaning = "budget: the largest resident set of each process, without massif's own memory; needs --rss=yes" },
	{ .name = "--budget", .parse = parse_budget, .flags = MF_OPTION_CORE,
	  .values = "file", .initial = "none",
	  .meaning = "read budgets from this file; may be given several times" },
	{ .name = "--suppressions", .parse = parse_suppressions, .flags = MF_OPTION_CORE,
	  .values = "file", .initial = "none",
	  .meaning = "leaks that --max-leak-sites does not count, as for LeakSanitizer or Valgrind; may be given "
		     "several times" },
	{ .name = "--embedded-suppressions", .parse = parse_boolean, .place = AT(embedded_suppressions),
	  .flags = MF_OPTION_CORE, .values = "yes|no", .initial = "yes",
	  .meaning = "also suppress the leaks that the program's __lsan_default_suppressions names" },
	{ .name = "--num-callers", .parse = parse_integer, .place = AT(no_effect),
	  .min = 1, .max = 500, .flags = MF_OPTION_CORE,
	  .values = "1..500", .initial = "12",
	  .meaning = "ignored: see --depth" },
	{ .name = "--tool", .parse = parse_tool, .flags = MF_OPTION_CORE,
	  .values = "massif", .initial = "massif",
	  .meaning = "accepted for compatibility with Valgrind" },
	{ .name = "--command-line-only", .parse = parse_boolean, .place = AT(command_line_only),
	  .flags = MF_OPTION_CORE,
	  .values = "yes|no", .initial = "no",
	  .meaning = "ignore ~/.massifrc, $MASSIF_OPTS and ./.massifrc" },
	{ .name = "--trace-malloc", .parse = parse_boolean, .place = AT(trace_malloc),
	  .values = "yes|no", .initial = "no",
	  .meaning = "print a line for each call of an allocation function" },
	{ .name = "--client-requests", .parse = parse_boolean, .place = AT(client_requests),
	  .flags = MF_OPTION_CORE,
	  .values = "yes|no", .initial = "yes",
	  .meaning = "honour Valgrind client requests; no: leave the code of the program "
		     "unpatched" },
	{ .name = "--stats", .parse = parse_boolean, .place = AT(stats), .flags = MF_OPTION_CORE,
	  .values = "yes|no", .initial = "no",
	  .meaning = "print statistics at the end" },
	{ .name = "--log-file", .parse = parse_text, .place = AT(log_file),
	  .flags = MF_OPTION_CORE,
	  .values = "file", .initial = "none",
	  .meaning = "write messages to this file instead of standard error; % as in "
		     "--massif-out-file" },
	{ .name = "--log-fd", .parse = parse_log_fd, .place = AT(log_fd),
	  .max = INT32_MAX, .flags = MF_OPTION_CORE,
	  .values = "number", .initial = "2",
	  .meaning = "write messages to this file descriptor" },
	{ .name = "-q", .parse = parse_step, .place = AT(verbosity),
	  .max = -1, .flags = MF_OPTION_CORE | MF_OPTION_BARE,
	  .meaning = "print only errors and warnings" },
	{ .name = "--quiet", .parse = parse_step, .place = AT(verbosity),
	  .max = -1, .flags = MF_OPTION_CORE | MF_OPTION_BARE,
	  .meaning = "same as -q" },
	{ .name = "-v", .parse = parse_step, .place = AT(verbosity),
	  .max = 1, .flags = MF_OPTION_CORE | MF_OPTION_BARE,
	  .meaning = "print more messages" },
	{ .name = "--verbose", .parse = parse_step, .place = AT(verbosity),
	  .max = 1, .flags = MF_OPTION_CORE | MF_OPTION_BARE,
	  .meaning = "same as -v" },
	{ .name = "-h", .parse = parse_request,
	  .max = MF_OPTIONS_HELP, .flags = MF_OPTION_CORE | MF_OPTION_BARE,
	  .meaning = "print this help" },
	{ .name = "--help", .parse = parse_request,
	  .max = MF_OPTIONS_HELP, .flags = MF_OPTION_CORE | MF_OPTION_BARE,
	  .meaning = "same as -h" },
	{ .name = "--help-debug", .parse = parse_request,
	  .max = MF_OPTIONS_HELP, .flags = MF_OPTION_CORE | MF_OPTION_BARE,
	  .meaning = "same as -h" },
	{ .name = "--version", .parse = parse_request,
	  .max = MF_OPTIONS_VERSION, .flags = MF_OPTION_CORE | MF_OPTION_BARE,
	  .meaning = "print the version" },
};

bool mf_option_is_boolean(const struct mf_option *option)
{
	return option->parse == parse_boolean;
}

const size_t mf_option_table_size = sizeof(mf_option_table) / sizeof(mf_option_table[0]);
