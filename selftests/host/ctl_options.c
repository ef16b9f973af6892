// SPDX-License-Identifier: GPL-2.0
// The options of massif-ctl: accepted and refused values, messages, and the first line ("desc:") of a massif.out file.

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "ctl/options/valgrind_options.h"
#include "ctl/options/number.h"
#include "ctl/options/options.h"
#include "ctl/files/outname.h"

#define ADVICE "\nUse --help for more information or consult the user manual."

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Parses @words, a NULL-terminated list, which must succeed. */
static void parse(struct __test_metadata *_metadata, struct mf_options *options,
		  const char *const *words, int *used)
{
	struct mf_error err = { "" };
	int argc = 0;

	while (words[argc])
		argc++;
	ASSERT_EQ(0, mf_options_init(options, argc, &err));
	ASSERT_EQ(0, mf_options_parse(options, argc, (char *const *)words, used, &err)) {
		TH_LOG("%s", err.text);
	}
}

#define PARSE(options, used, ...) \
	parse(_metadata, options, (const char *const[]){ __VA_ARGS__, NULL }, used)

/* Returns the text of a source file, which the caller must free. In manual pages, escaped hyphens are unescaped. */
static char *read_document(const char *name)
{
	char path[PATH_MAX], *text = NULL, *to;
	size_t length = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/Documentation/%s", getenv("MASSIF_SRC"), name);
	file = fopen(path, "r");
	if (!file || getdelim(&text, &length, '\0', file) < 0)
		return NULL;
	fclose(file);
	to = text;
	for (const char *from = text; (*to = *from); from++)
		to += *from != '\\';
	return text;
}

/* Returns whether @text contains @option as a complete word. */
static bool tells_of(const char *text, const char *option, size_t length)
{
	while ((text = strstr(text, option))) {
		if (!isalnum((unsigned char)text[length]) && text[length] != '-')
			return true;
		text += length;
	}
	return false;
}

/* Every option that --help lists is described in the manual page and in options.rst. */
TEST(all_are_documented)
{
	static const char *const documents[] = { "massif-ctl.1", "options.rst" };
	char *help = NULL, *word;
	size_t length, room = 0;
	FILE *output = open_memstream(&help, &room);
	uint32_t n = 0;

	mf_options_print_help(output);
	fclose(output);
	for (size_t i = 0; i < COUNT(documents); i++) {
		char *text = read_document(documents[i]);

		ASSERT_NE(NULL, text);
		for (word = help; (word = strstr(word, "\n    -")); word += length) {
			char option[64];

			word += strlen("\n    ");
			length = strspn(word, "-abcdefghijklmnopqrstuvwxyz");
			snprintf(option, sizeof(option), "%.*s", (int)length, word);
			EXPECT_TRUE(tells_of(text, option, length))
				TH_LOG("%s does not tell of %s", documents[i], option);
			n++;
		}
		free(text);
	}
	EXPECT_LT(90, n);
	free(help);
}

TEST(defaults)
{
	struct mf_options options;
	int used;

	PARSE(&options, &used, "prog", "--depth=3");
	EXPECT_EQ(0, used);
	EXPECT_EQ(30, options.report.depth);
	EXPECT_EQ(1.0, options.report.threshold);
	EXPECT_EQ(1.0, options.model.peak_inaccuracy);
	EXPECT_EQ(100, options.model.max_snapshots);
	EXPECT_EQ(10, options.model.detailed_freq);
	EXPECT_EQ(8, options.model.heap_admin);
	EXPECT_EQ(16, options.model.alignment);
	EXPECT_EQ(MF_TIME_INSTRUCTIONS, options.model.time_unit);
	EXPECT_FALSE(options.time_unit_given);
	EXPECT_FALSE(options.pages_as_heap);
	EXPECT_TRUE(options.heap);
	EXPECT_TRUE(options.realloc_zero_frees);
	EXPECT_FALSE(options.trace_malloc);
	EXPECT_FALSE(options.stats);
	EXPECT_EQ(2, options.log_fd);
	EXPECT_EQ(NULL, options.log_file);
	EXPECT_STREQ("massif.out.%p", options.out_file);
	EXPECT_STREQ("(none)", options.desc);
	mf_options_deinit(&options);
}

TEST(values)
{
	struct mf_options options;
	int used;

	PARSE(&options, &used, "--depth= +5", "--threshold=.5", "--peak-inaccuracy=-1",
	      "--max-snapshots=1000", "--detailed-freq=1", "--heap-admin=", "--alignment=4096",
	      "--time-unit=B", "--massif-out-file=x", "--pages-as-heap=yes", "--alloc-fn=a",
	      "--alloc-fn=b");
	EXPECT_EQ(5, options.report.depth);
	EXPECT_EQ(0.5, options.report.threshold);
	EXPECT_EQ(-1.0, options.model.peak_inaccuracy);
	EXPECT_EQ(1000, options.model.max_snapshots);
	EXPECT_EQ(1, options.model.detailed_freq);
	EXPECT_EQ(0, options.model.heap_admin);
	EXPECT_EQ(4096, options.model.alignment);
	EXPECT_EQ(MF_TIME_BYTES, options.model.time_unit);
	EXPECT_TRUE(options.time_unit_given);
	EXPECT_STREQ("x", options.out_file);
	EXPECT_TRUE(options.pages_as_heap);
	ASSERT_EQ(2, options.report.alloc_fns.count);
	EXPECT_STREQ("a", options.report.alloc_fns.items[0]);
	EXPECT_STREQ("b", options.report.alloc_fns.items[1]);
	mf_options_deinit(&options);
}

TEST(bare_pages_as_heap_is_yes)
{
	struct mf_options options;
	int used;

	PARSE(&options, &used, "--pages-as-heap", "prog");
	EXPECT_TRUE(options.pages_as_heap);
	EXPECT_EQ(1, used);
	EXPECT_STREQ("--pages-as-heap", options.desc);
	mf_options_deinit(&options);
}

TEST(last_value_wins)
{
	struct mf_options options;
	int used;

	PARSE(&options, &used, "--depth=5", "--depth=6", "prog");
	EXPECT_EQ(6, options.report.depth);
	EXPECT_STREQ("--depth=5 --depth=6", options.desc);
	mf_options_deinit(&options);
}

/*
 * The desc line contains the options verbatim and in order, duplicates included. It omits options that do not concern
 * the profile.
 */
TEST(first_line_of_the_file)
{
	struct mf_options options;
	int used;

	PARSE(&options, &used, "-v", "--depth= 7", "-q", "--massif-out-file=a b#c", "--demangle=no",
	      "--threshold=", "--", "--depth=9");
	EXPECT_STREQ("--depth= 7 --massif-out-file=a b#c --threshold=", options.desc);
	EXPECT_EQ(7, used);
	mf_options_deinit(&options);
}

TEST(end_of_options)
{
	struct mf_options options;
	int used;

	PARSE(&options, &used, "--depth=5", "--", "--depth=6");
	EXPECT_EQ(2, used);
	EXPECT_EQ(5, options.report.depth);
	mf_options_deinit(&options);
}

TEST(verbosity)
{
	struct mf_options options;
	int used;

	PARSE(&options, &used, "-v", "--verbose", "-q", "prog");
	EXPECT_EQ(2, options.verbosity);
	mf_options_deinit(&options);
}

TEST(wishes)
{
	static const struct {
		const char *word;
		enum mf_options_request wanted;
	} cases[] = {
		{ "-h", MF_OPTIONS_HELP },
		{ "--help", MF_OPTIONS_HELP },
		{ "--version", MF_OPTIONS_VERSION },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct mf_options options;
		int used;

		PARSE(&options, &used, cases[i].word);
		EXPECT_EQ(cases[i].wanted, options.wanted);
		mf_options_deinit(&options);
	}
}

/* Options that are refused, with the reason that Debian's valgrind gives; NULL: the option is unknown. */
static const struct {
	const char *arg, *reason;
} refused[] = {
	{ "--depth=", "'--depth' argument must be between 1 and 200" },
	{ "--depth=0", "'--depth' argument must be between 1 and 200" },
	{ "--depth=201", "'--depth' argument must be between 1 and 200" },
	{ "--depth=-5", "'--depth' argument must be between 1 and 200" },
	{ "--depth=5 ", "Invalid integer value '5 '" },
	{ "--depth=5k", "Invalid integer value '5k'" },
	{ "--depth=0x10", "Invalid integer value '0x10'" },
	{ "--depth=5.5", "Invalid integer value '5.5'" },
	{ "--depth= ", "Invalid integer value ' '" },
	{ "--depth=-", "Invalid integer value '-'" },
	{ "--depth=- 5", "Invalid integer value '- 5'" },
	{ "--depth=--5", "Invalid integer value '--5'" },
	{ "--depth=99999999999999999999", "Invalid integer value '99999999999999999999'" },
	{ "--depth", "'--depth' needs = and a value: --depth=1..200" },
	{ "--dep=5", NULL },
	{ "--heap-admin=1025", "'--heap-admin' argument must be between 0 and 1024" },
	{ "--heap-admin=-1", "'--heap-admin' argument must be between 0 and 1024" },
	{ "--max-snapshots=", "'--max-snapshots' argument must be between 10 and 1000" },
	{ "--max-snapshots=9", "'--max-snapshots' argument must be between 10 and 1000" },
	{ "--max-snapshots=1001", "'--max-snapshots' argument must be between 10 and 1000" },
	{ "--detailed-freq=0", "'--detailed-freq' argument must be between 1 and 1000000" },
	{ "--detailed-freq=1000001", "'--detailed-freq' argument must be between 1 and 1000000" },
	{ "--threshold=-1", "--threshold must be between 0.0 and 100.0" },
	{ "--threshold=100.00000000001", "--threshold must be between 0.0 and 100.0" },
	{ "--threshold=1e1", "Invalid floating point value '1e1'" },
	{ "--threshold=nan", "Invalid floating point value 'nan'" },
	{ "--threshold=1 ", "Invalid floating point value '1 '" },
	{ "--threshold=1,5", "Invalid floating point value '1,5'" },
	{ "--threshold=1.5.5", "Invalid floating point value '1.5.5'" },
	{ "--peak-inaccuracy=inf", "Invalid floating point value 'inf'" },
	{ "--alignment=", "Alignment must be a power of 2 in the range 16..4096." },
	{ "--alignment=8", "Alignment must be a power of 2 in the range 16..4096." },
	{ "--alignment=15", "Alignment must be a power of 2 in the range 16..4096." },
	{ "--alignment=48", "Alignment must be a power of 2 in the range 16..4096." },
	{ "--alignment=8192", "Alignment must be a power of 2 in the range 16..4096." },
	{ "--alignment=-16", "Invalid integer value '-16'" },
	{ "--alignment=4294967312", "Invalid integer value '4294967312'" },
	{ "--alignment=x", "Invalid integer value 'x'" },
	{ "--pages-as-heap=", "Invalid boolean value '' (should be 'yes' or 'no')" },
	{ "--pages-as-heap=Yes", "Invalid boolean value 'Yes' (should be 'yes' or 'no')" },
	{ "--pages-as-heap=yess", "Invalid boolean value 'yess' (should be 'yes' or 'no')" },
	{ "--time-unit=", "'--time-unit' can be i, ms or B" },
	{ "--time-unit=s", "'--time-unit' can be i, ms or B" },
	{ "--time-unit=b", "'--time-unit' can be i, ms or B" },
	{ "--time-unit=MS", "'--time-unit' can be i, ms or B" },
	{ "-q=1", "'-q' takes no value" },
	{ "-qq", NULL },
	{ "--help=yes", "'--help' takes no value" },
	{ "-x", NULL },
	{ "-", NULL },
	{ "--heap", "Missing boolean value, did you mean '--heap=yes'?" },
	{ "--demangle", "Missing boolean value, did you mean '--demangle=yes'?" },
	{ "--heap=", "Invalid boolean value '' (should be 'yes' or 'no')" },
	{ "--merge-recursive-frames=501",
	  "'--merge-recursive-frames' argument must be between 0 and 500" },
	{ "--redzone-size=4097", "'--redzone-size' argument must be between 0 and 4096" },
	{ "--num-callers=0", "'--num-callers' argument must be between 1 and 500" },
	{ "--tool=memcheck", "the only tool is massif" },
	{ "--log-file", "'--log-file' needs = and a value: --log-file=file" },
	{ "--pages=all", "'--pages' can be virtual, resident or both" },
	{ "--heap-extra=", "'--heap-extra' can be massif or real" },
	{ "--xtree-memory=some", "'--xtree-memory' can be none, allocs or full" },
	{ "--log-fd=x", "Invalid integer value 'x'" },
	{ "--trace-malloc=1", "Invalid boolean value '1' (should be 'yes' or 'no')" },
};

TEST(refusals)
{
	for (size_t i = 0; i < COUNT(refused); i++) {
		const char *words[] = { "--depth=5", refused[i].arg, "prog" };
		struct mf_options options;
		struct mf_error err = { "" };
		char expected[1024];
		int used;

		if (refused[i].reason)
			snprintf(expected, sizeof(expected), "Bad option: %s\n%s" ADVICE,
				 refused[i].arg, refused[i].reason);
		else
			snprintf(expected, sizeof(expected), "Unknown option: %s" ADVICE,
				 refused[i].arg);
		ASSERT_EQ(0, mf_options_init(&options, 3, &err));
		EXPECT_EQ(-EINVAL,
			  mf_options_parse(&options, 3, (char *const *)words, &used, &err));
		EXPECT_STREQ(expected, err.text);
		mf_options_deinit(&options);
	}
}

/* For an unknown option, a similar existing option is suggested if no more than a quarter of the letters differ. */
TEST(suggestions)
{
	static const struct {
		const char *arg, *meant;
	} cases[] = {
		{ "--depthx=5", "--depth" },	      { "--dept=5", "--depth" },
		{ "--dpeth=5", "--depth" },	      { "--Depth", "--depth" },
		{ "--time-units=B", "--time-unit" },  { "--thresold=3", "--threshold" },
		{ "--alloc_fn=f", "--alloc-fn" },     { "--trace-childern=yes", "--trace-children" },
		{ "--massif-outfile=x", "--massif-out-file" },
		{ "--deep=5", NULL },		      { "--xyz", NULL },
		{ "--x", NULL },		      { "-", NULL },
		{ "-qq", NULL },		      { "--", "" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *words[] = { cases[i].arg, "prog" };
		struct mf_options options;
		struct mf_error err = { "" };
		char expected[1024] = "";
		int used;

		if (cases[i].meant && *cases[i].meant)
			snprintf(expected, sizeof(expected), "Unknown option: %s\nDid you mean '%s'?" ADVICE,
				 cases[i].arg, cases[i].meant);
		else if (!cases[i].meant)
			snprintf(expected, sizeof(expected), "Unknown option: %s" ADVICE, cases[i].arg);
		ASSERT_EQ(0, mf_options_init(&options, 2, &err));
		mf_options_parse(&options, 2, (char *const *)words, &used, &err);
		EXPECT_STREQ(expected, err.text);
		mf_options_deinit(&options);
	}
}

/*
 * massif-ctl looks for a similar option only if the unknown option is not too long. The options in this test are either
 * about as long as the limit or several times as long, and no option is suggested for any of them.
 */
TEST(suggestions_for_long_words)
{
	for (size_t length = 63; length <= 640; length = length < 66 ? length + 1 : length * 9 / 2) {
		char word[1024] = "--", *words[] = { word };
		struct mf_options options;
		struct mf_error err = { "" };
		int used;

		memset(word + 2, 'a', length - 2);
		ASSERT_EQ(0, mf_options_init(&options, 1, &err));
		EXPECT_EQ(-EINVAL, mf_options_parse(&options, 1, words, &used, &err));
		EXPECT_EQ(NULL, strstr(err.text, "Did you mean"));
		mf_options_deinit(&options);
	}
}

/*
 * An option may be prefixed with the tool's name, as in --massif:depth=5. Messages, and the list of options in the
 * profile, show it without the prefix, as --depth=5. Options for other tools are ignored.
 */
TEST(prefixed)
{
	static const char *const bad[] = { "--massif:depth=0", "--massif:deep=1", "--massif:vgdb=no" };
	struct mf_options options;
	int used;

	PARSE(&options, &used, "--massif:depth=5", "--memcheck:leak-check=full", "--depth=6",
	      "--massif:alloc-fn=a::b", "--nothing:at=all", "--alloc-fn=--massif:c", "prog");
	EXPECT_EQ(6, options.report.depth);
	EXPECT_STREQ("--depth=5 --depth=6 --alloc-fn=a::b --alloc-fn=--massif:c", options.desc);
	ASSERT_EQ(2, options.report.alloc_fns.count);
	EXPECT_STREQ("a::b", options.report.alloc_fns.items[0]);
	EXPECT_STREQ("--massif:c", options.report.alloc_fns.items[1]);
	EXPECT_EQ(6, used);
	mf_options_deinit(&options);

	for (size_t i = 0; i < COUNT(bad); i++) {
		struct mf_error err = { "" };

		ASSERT_EQ(0, mf_options_init(&options, 1, &err));
		EXPECT_EQ(-EINVAL, mf_options_parse(&options, 1, (char *const *)&bad[i], &used,
						    &err));
		EXPECT_EQ(NULL, strstr(err.text, "massif:")) {
			TH_LOG("%s", err.text);
		}
		mf_options_deinit(&options);
	}
}

TEST(heap_takes_precedence)
{
	struct mf_options options;
	int used;

	PARSE(&options, &used, "--heap=no", "--pages-as-heap=yes", "prog");
	EXPECT_FALSE(mf_options_has_pages(&options));
	mf_options_deinit(&options);
	PARSE(&options, &used, "--heap=no", "--pages-as-heap=yes", "--heap=yes", "prog");
	EXPECT_TRUE(mf_options_has_pages(&options));
	mf_options_deinit(&options);
}

/*
 * --soname-synonyms is a list of NAME=PATTERN pairs. Only the name somalloc has an effect; as in Valgrind, other names
 * are accepted but ignored.
 */
TEST(synonyms)
{
	static const struct {
		const char *arg, *pattern;
	} cases[] = {
		{ "--soname-synonyms=somalloc=NONE", "NONE" },
		{ "--soname-synonyms=somalloc=libjemalloc*", "libjemalloc*" },
		{ "--soname-synonyms=a=b,somalloc=c,d=e", "c" },
		{ "--soname-synonyms=somalloc=", "" },
		{ "--soname-synonyms=somalloc", "" },
		{ "--soname-synonyms=", NULL },
		{ "--soname-synonyms=x", NULL },
		{ "--soname-synonyms=asomalloc=b,somallocs=c", NULL },
	};
	struct mf_options options;
	int used;

	for (size_t i = 0; i < COUNT(cases); i++) {
		PARSE(&options, &used, cases[i].arg, "prog");
		EXPECT_EQ(!cases[i].pattern, !options.somalloc);
		if (cases[i].pattern && options.somalloc) {
			size_t length = strcspn(options.somalloc, ",");

			EXPECT_EQ(strlen(cases[i].pattern), length);
			EXPECT_EQ(0, strncmp(cases[i].pattern, options.somalloc, length));
		}
		EXPECT_STREQ("(none)", options.desc);
		mf_options_deinit(&options);
	}
}

/*
 * massif-ctl refuses each kind of Valgrind option with the reason for that kind. It refuses an unknown option without a
 * reason.
 */
TEST(foreign_options)
{
	static const struct {
		const char *arg, *part;
	} cases[] = {
		{ "--vgdb=no", "debugger" },
		{ "--vgdb-error=0", "debugger" },
		{ "--db-attach=yes", "debugger" },
		{ "--leak-check=full", "another tool" },
		{ "--suppressions=known.supp", "massif-ctl check --suppressions" },
		{ "--progress-interval=1", "massif-ctl top" },
		{ "--enable-debuginfod=yes", "massif-ctl symbolize --debuginfod" },
		{ "--smc-check=all", "processor" },
		{ "--trace-syscalls=yes", "strace" },
		{ "--xml=yes", "errors" },
		{ "-s", "errors" },
		{ "-d", "debugging" },
	};
	static const char *const unknown[] = { "--leak", "-ss", "--stack=yes", "--vgd", "--xm=1",
					       "--stacks-x" };

	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *reason = mf_valgrind_option_reason(cases[i].arg);

		ASSERT_NE(NULL, reason) {
			TH_LOG("%s", cases[i].arg);
		}
		EXPECT_NE(NULL, strstr(reason, cases[i].part)) {
			TH_LOG("%s", cases[i].arg);
		}
	}
	for (size_t i = 0; i < COUNT(unknown); i++) {
		EXPECT_EQ(NULL, mf_valgrind_option_reason(unknown[i])) {
			TH_LOG("%s", unknown[i]);
		}
	}
}

/* All three lines of the message about an invalid value are printed, however long the value is. */
TEST(long_words)
{
	char arg[8192] = "--depth=";
	const char *words[] = { arg };
	struct mf_options options;
	struct mf_error err;
	int used;

	memset(arg + strlen(arg), 'x', sizeof(arg) - strlen(arg) - 1);
	arg[sizeof(arg) - 1] = '\0';
	ASSERT_EQ(0, mf_options_init(&options, 1, &err));
	EXPECT_EQ(-EINVAL, mf_options_parse(&options, 1, (char *const *)words, &used, &err));
	EXPECT_NE(NULL, strstr(err.text, ADVICE));
	EXPECT_NE(NULL, strstr(err.text, "Invalid integer value 'xxx"));
	mf_options_deinit(&options);
}

TEST(integers)
{
	static const struct {
		const char *text;
		bool valid;
		int64_t value;
	} cases[] = {
		{ "", true, 0 },
		{ "007", true, 7 },
		{ "-0", true, 0 },
		{ "\t5", true, 5 },
		{ " \n\v\f\r-12", true, -12 },
		{ "9223372036854775807", true, INT64_MAX },
		{ "9223372036854775808", false, 0 },
		{ "18446744073709551617", false, 0 },
		{ "+", false, 0 },
		{ "+-1", false, 0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		int64_t value = -99;

		ASSERT_EQ(cases[i].valid, mf_number_parse_integer(cases[i].text, &value)) {
			TH_LOG("'%s'", cases[i].text);
		}
		if (cases[i].valid)
			EXPECT_EQ(cases[i].value, value);
	}
}

#define DIGITS_20 "99999999999999999999"
#define DIGITS_80 DIGITS_20 DIGITS_20 DIGITS_20 DIGITS_20
#define DIGITS_320 DIGITS_80 DIGITS_80 DIGITS_80 DIGITS_80

TEST(decimals)
{
	static const struct {
		const char *text;
		bool valid;
		double value;
	} cases[] = {
		{ "", true, 0.0 },
		{ "-", true, 0.0 },
		{ " ", true, 0.0 },
		{ ".", true, 0.0 },
		{ "5.", true, 5.0 },
		{ "+1.25", true, 1.25 },
		{ "-0.5", true, -0.5 },
		{ "0x5", false, 0.0 },
		{ "1e1", false, 0.0 },
		{ "1..5", false, 0.0 },
		{ DIGITS_320, false, 0.0 },
		{ "-" DIGITS_320 ".5", false, 0.0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		double value = -99;

		ASSERT_EQ(cases[i].valid, mf_number_parse_decimal(cases[i].text, &value)) {
			TH_LOG("'%s'", cases[i].text);
		}
		if (cases[i].valid)
			EXPECT_EQ(cases[i].value, value);
	}
}

TEST(file_names)
{
	static const struct {
		const char *pattern, *name;
	} cases[] = {
		{ "massif.out.%p", "massif.out.1234" },
		{ "%p%p", "12341234" },
		{ "a%%b", "a%b" },
		{ "%n", "3" },
		{ "%n-%n%%n", "3-4%n" },
		{ "%%q{NAME}", "%q{NAME}" },
		{ "%q{NAME}", "value" },
		{ "x%q{NAME}y%q{EMPTY}z", "xvalueyz" },
		{ "x~", "x~" },
	};

	setenv("NAME", "value", 1);
	setenv("EMPTY", "", 1);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct mf_error err;
		char *name;

		ASSERT_EQ(0, mf_outname_expand(cases[i].pattern, 1234, 3, &name, &err));
		EXPECT_STREQ(cases[i].name, name);
		free(name);
	}
}

TEST(bad_file_names)
{
	static const struct {
		const char *pattern, *reason;
	} cases[] = {
		{ "", "No filename given" },
		{ "%q{EMPTY}", "No filename given" },
		{ "~/x",
		  "Filename begins with '~'\n"
		  "You probably expected the shell to expand the '~', but it\n"
		  "didn't.  The rules for '~'-expansion vary from shell to shell.\n"
		  "You might have more luck using $HOME instead." },
		{ "a%", "Expected 'p' or 'q' or '%' after '%'" },
		{ "a%z", "Expected 'p' or 'q' or '%' after '%'" },
		{ "a%q", "Expected '{' after '%q'" },
		{ "a%qX", "Expected '{' after '%q'" },
		{ "a%q{X", "Missing '}' in %q specifier" },
		{ "a%q{MISSING}", "Environment variable 'MISSING' is not set" },
		{ "a%q{}", "Environment variable '' is not set" },
	};

	setenv("EMPTY", "", 1);
	unsetenv("MISSING");
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct mf_error err;
		char *name;

		EXPECT_EQ(-EINVAL, mf_outname_expand(cases[i].pattern, 1, 1, &name, &err));
		EXPECT_STREQ(cases[i].reason, err.text);
	}
}

TEST_HARNESS_MAIN
