// SPDX-License-Identifier: GPL-2.0
// Parses the command line.

#include "options.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "failure.h"

#ifndef MASSIF_VERSION
#error "MASSIF_VERSION must be defined"
#endif

#define USAGE                                                                          \
	"usage: ms_print [options] massif-out-file\n"                                    \
	"\n"                                                                             \
	"  Prints a profile that massif wrote. The file may be compressed with gzip or zstd.\n" \
	"  The options, with defaults in [ ], are:\n"                                    \
	"    -h --help             print this text\n"                                    \
	"    --version             print the version\n"                                  \
	"    --threshold=<m.n>     hide what is below this percentage of a snapshot [1]\n" \
	"    --x=<4..1000>         columns of the graph [72]\n"                          \
	"    --y=<4..1000>         rows of the graph [20]\n"

/* Fails with a message that includes the usage. */
static int fail_usage(struct mf_failure *failure, const char *what, const char *arg)
{
	return mf_failure_set(failure, MF_FAILURE_OTHER, "ms_print: %s%s\n" USAGE, what, arg);
}

/* Sets an option to @value, which is @len bytes long. Returns 0, or -EINVAL if the value is invalid. */
typedef int set_fn(struct mf_options *options, const char *value, size_t len);

static int set_threshold(struct mf_options *options, const char *value, size_t len)
{
	if (len && value[len - 1] == '%')
		len--;
	if (!len || strspn(value, "0123456789.") < len)
		return -EINVAL;
	options->threshold = mf_number_parse(value, len);
	return mf_number_at_least(mf_number_of(100), options->threshold) ? 0 : -EINVAL;
}

static int set_size(unsigned int *size, const char *value, size_t len)
{
	struct mf_number number = mf_number_parse(value, len);

	if (!len || strspn(value, "0123456789") < len)
		return -EINVAL;
	if (!mf_number_at_least(number, mf_number_of(4)) ||
	    !mf_number_at_least(mf_number_of(1000), number))
		return -EINVAL;
	*size = number.integer;
	return 0;
}

static int set_width(struct mf_options *options, const char *value, size_t len)
{
	return set_size(&options->width, value, len);
}

static int set_height(struct mf_options *options, const char *value, size_t len)
{
	return set_size(&options->height, value, len);
}

/* Options that take a value. */
static const struct {
	const char *prefix;
	set_fn *set;
} table[] = {
	{ "--threshold=", set_threshold },
	{ "--x=", set_width },
	{ "--y=", set_height },
};

static int parse_option(struct mf_options *options, const char *arg, struct mf_failure *failure)
{
	size_t len = strlen(arg);
	size_t prefix;
	size_t i;

	if (strcmp(arg, "-h") == 0 || strcmp(arg, "--help") == 0)
		options->answer = USAGE;
	else if (strcmp(arg, "--version") == 0)
		options->answer = "ms_print-" MASSIF_VERSION "\n";
	if (options->answer)
		return 0;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		prefix = strlen(table[i].prefix);
		if (len < prefix || strncmp(arg, table[i].prefix, prefix))
			continue;
		if (!table[i].set(options, arg + prefix, len - prefix))
			return 0;
		return fail_usage(failure, "bad value: ", arg);
	}
	return fail_usage(failure, "unknown option: ", arg);
}

int mf_options_parse(struct mf_options *options, int argc, char **argv,
		     struct mf_failure *failure)
{
	int ret;
	int i;

	options->threshold = mf_number_of(1);
	options->width = 72;
	options->height = 20;
	for (i = 1; i < argc; i++) {
		mf_text_append(&options->args, " ", 1);
		mf_text_append_string(&options->args, argv[i]);
		if (argv[i][0] == '-') {
			ret = parse_option(options, argv[i], failure);
			if (ret || options->answer)
				return ret;
		} else if (options->path) {
			return fail_usage(failure, "only one file at a time, not also: ", argv[i]);
		} else {
			options->path = argv[i];
		}
	}
	return options->path ? 0 : fail_usage(failure, "no file specified", "");
}

void mf_options_deinit(struct mf_options *options)
{
	mf_text_deinit(&options->args);
}
