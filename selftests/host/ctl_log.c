// SPDX-License-Identifier: GPL-2.0
// Messages about the profiler's work (-q, -v, --stats, --trace-malloc), and where they go.
//
// The lines about snapshots and calls are the same as Valgrind's except for pids and addresses.

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

#define VALGRIND "/usr/bin/valgrind"
#define SECONDS	 120
#define WORDS	 16

FIXTURE(log) {
	struct ctl_result theirs, ours;
	char *their_lines, *our_lines;
};

FIXTURE_SETUP(log)
{
	ctl_remove_files("log.");
	ctl_remove_files("massif.out");
}

FIXTURE_TEARDOWN(log)
{
	free(self->their_lines);
	free(self->our_lines);
	ctl_result_free(&self->theirs);
	ctl_result_free(&self->ours);
}

/* Returns the length of `--123-- ` at the start of @line, or 0. */
static size_t prefix_of(const char *line)
{
	size_t digits;

	if (strncmp(line, "--", 2) != 0)
		return 0;
	digits = strspn(line + 2, "0123456789");
	return digits && strncmp(line + 2 + digits, "-- ", 3) == 0 ? digits + 5 : 0;
}

/* Copies one line, with addresses other than 0x0 replaced with `0x?`. Returns the start of the next line. */
static const char *copy_line(const char *line, FILE *out)
{
	while (*line && *line != '\n') {
		if (strncmp(line, "0x", 2) == 0 && isxdigit(line[2]) && line[2] != '0') {
			line += 2;
			line += strspn(line, "0123456789ABCDEF");
			fputs("0x?", out);
		} else {
			fputc(*line++, out);
		}
	}
	fputc('\n', out);
	return *line ? line + 1 : line;
}

/* Returns whether @line is one of Massif's own lines; Valgrind prints many other lines in the same format. */
static bool is_of_massif(const char *line)
{
	return strncmp(line, "Massif: ", strlen("Massif: ")) == 0;
}

/*
 * Returns the lines of @text that concern the program, with its pid removed. If @from is not NULL, returns only
 * Massif's lines, starting with the one that contains @from.
 */
static char *lines_of(const char *text, const char *from)
{
	char *lines = NULL;
	size_t size;
	FILE *out = open_memstream(&lines, &size);
	bool all = !from;

	while (*text) {
		size_t length = strcspn(text, "\n"), prefix = prefix_of(text);

		if (from) {
			const char *found = strstr(text, from);

			if (found && found < text + length)
				from = NULL;
		}
		if (prefix && (all || (!from && is_of_massif(text + prefix)))) {
			text = copy_line(text + prefix, out);
			continue;
		}
		text += length + (text[length] == '\n');
	}
	fclose(out);
	return lines;
}

struct comparison {
	const char *program, *argument;
	const char *options[4];
	const char *from; /* compare Massif's lines from the first one that contains this text; NULL: all lines */
};

static void fill(const char **argv, const char *const *first, const struct comparison *c)
{
	size_t n = 0;

	for (; *first; first++)
		argv[n++] = *first;
	for (size_t i = 0; i < 4 && c->options[i]; i++)
		argv[n++] = c->options[i];
	argv[n++] = "--time-unit=B";
	argv[n++] = "--massif-out-file=/dev/null";
	argv[n++] = ctl_target(c->program);
	argv[n++] = c->argument;
	argv[n] = NULL;
}

static void compare(struct __test_metadata *_metadata, FIXTURE_DATA(log) *self,
		    const struct comparison *c)
{
	static const char *const valgrind[] = { VALGRIND, "--tool=massif", "--run-libc-freeres=no",
						"--run-cxx-freeres=no", NULL };
	static const char *const massif[] = { "massif-ctl", NULL };
	const char *argv[WORDS];

	fill(argv, valgrind, c);
	ctl_run(&self->theirs, NULL, NULL, argv);
	fill(argv, massif, c);
	ctl_run(&self->ours, NULL, NULL, argv);
	self->their_lines = lines_of(self->theirs.err, c->from);
	self->our_lines = lines_of(self->ours.err, c->from);
	EXPECT_NE('\0', self->their_lines[0]);
	EXPECT_STREQ(self->their_lines, self->our_lines);
}

FIXTURE_VARIANT(log) {
	struct comparison comparison;
};

#define COMPARE(name, ...) FIXTURE_VARIANT_ADD(log, name) { .comparison = { __VA_ARGS__ } }
#define ON(...) .options = { __VA_ARGS__ }

/*
 * The list of built-in allocation functions in our log comes from a newer Valgrind, so the logs are compared only from
 * the line after it.
 */
COMPARE(steps_example, "heap_example", ON("-v", "-v"), .from = "ignore-fns:");
COMPARE(steps_culled, "heap_example", ON("-v", "-v", "--max-snapshots=10"), .from = "ignore-fns:");
COMPARE(steps_skipped, "diff_shapes", "churn_long", ON("-v", "-v", "--max-snapshots=11"),
	.from = "ignore-fns:");
COMPARE(steps_peaks, "diff_shapes", "waves", ON("-v", "-v", "--peak-inaccuracy=0"),
	.from = "ignore-fns:");
COMPARE(steps_realloc, "diff_calls", "realloc_shrink", ON("-v", "-v", "--peak-inaccuracy=0"),
	.from = "ignore-fns:");
COMPARE(steps_none, "diff_shapes", "nothing", ON("-v", "-v"), .from = "ignore-fns:");
COMPARE(events_example, "heap_example", ON("-v", "-v", "-v"), .from = "ignore-fns:");
COMPARE(events_realloc, "diff_calls", "realloc_shrink", ON("-v", "-v", "-v"), .from = "ignore-fns:");
COMPARE(events_edges, "diff_calls", "realloc_edges", ON("-v", "-v", "-v"), .from = "ignore-fns:");
COMPARE(events_ignored, "diff_ignored", "churn", ON("-v", "-v", "-v", "--ignore-fn=hidden"),
	.from = "ignore-fns:");
COMPARE(lists, "heap_example", NULL, ON("-v", "--ignore-fn=a b", "--ignore-fn=c"),
	.from = "ignore-fns:");
COMPARE(stats_example, "heap_example", ON("--stats=yes"), .from = "heap allocs:");
COMPARE(stats_culled, "diff_shapes", "churn_long", ON("--stats=yes"), .from = "heap allocs:");
COMPARE(stats_realloc, "diff_calls", "realloc_edges", ON("--stats=yes"), .from = "heap allocs:");
COMPARE(stats_ignored, "diff_places", "wraps", ON("--stats=yes", "--ignore-fn=wrap"),
	.from = "heap allocs:");
COMPARE(trace_c, "ctl_calls", NULL, ON("-q", "--trace-malloc=yes"));
COMPARE(trace_cxx, "ctl_operators", NULL, ON("-q", "--trace-malloc=yes"));

TEST_F_TIMEOUT(log, same, SECONDS)
{
	if (access(VALGRIND, X_OK))
		SKIP(return, "valgrind is not installed");
	compare(_metadata, self, &variant->comparison);
}

FIXTURE(own) {
	struct ctl_result result;
	char *log;
};

FIXTURE_SETUP(own)
{
	ctl_remove_files("log.");
	ctl_remove_files("massif.out");
}

FIXTURE_TEARDOWN(own)
{
	free(self->log);
	ctl_result_free(&self->result);
}

#define RUN(...) \
	CTL_RUN(&self->result, "massif-ctl", "--time-unit=B", "--massif-out-file=/dev/null", __VA_ARGS__)

TEST_F(own, levels)
{
	static const struct {
		const char *option;
		bool notes, lists, steps;
	} cases[] = {
		{ "-q", false, false, false },
		{ "--stats=no", true, false, false },
		{ "-v", true, true, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		RUN(cases[i].option, ctl_target("heap_example"));
		EXPECT_EQ(cases[i].notes, !!strstr(self->result.err, "; wrote "));
		EXPECT_EQ(cases[i].lists, !!strstr(self->result.err, "alloc-fns:"));
		EXPECT_EQ(cases[i].steps, !!strstr(self->result.err, " startup S.  0 "));
		ctl_result_free(&self->result);
	}
	RUN("-v", "-v", ctl_target("heap_example"));
	EXPECT_NE(NULL, strstr(self->result.err, " startup S.  0 (t:0, hp:0, ex:0, st:0)\n"));
	EXPECT_EQ(NULL, strstr(self->result.err, "<<<"));
	ctl_result_free(&self->result);
	/* Four -v options print everything that three do. */
	RUN("-v", "-v", "-v", "-v", ctl_target("heap_example"));
	EXPECT_NE(NULL, strstr(self->result.err, "<<< record_block (1000, 8)\n"));
}

TEST_F(own, all_functions_are_listed)
{
	RUN("-v", "--alloc-fn=mine", ctl_target("heap_example"));
	self->log = lines_of(self->result.err, NULL);
	EXPECT_EQ(self->log,
		  strstr(self->log, "Massif: alloc-fns:\nMassif:   malloc\nMassif:   __builtin_new\n"
				    "Massif:   operator new(unsigned long)\n"));
	EXPECT_NE(NULL, strstr(self->log,
			       "(unsigned long, std::align_val_t, std::nothrow_t const&)\n"
			       "Massif:   mine\nMassif: ignore-fns:\nMassif:   <empty>\n"));
}

/* All messages go to the file, whose name contains the program's pid. */
TEST_F(own, log_file)
{
	char name[256] = "", expected[320], *line;

	RUN("--log-file=log.%p", "-v", "-v", "--stats=yes", "--trace-malloc=yes",
	    ctl_target("ctl_calls"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	ASSERT_EQ(1, ctl_find_files("log.", name));
	self->log = ctl_read_file(name);
	ASSERT_NE(NULL, self->log);
	snprintf(expected, sizeof(expected), "massif-ctl: Parent PID: %d\n", (int)getpid());
	EXPECT_EQ(self->log, strstr(self->log, expected));
	snprintf(expected, sizeof(expected), "--%s-- Massif: alloc-fns:\n", name + strlen("log."));
	EXPECT_NE(NULL, strstr(self->log, expected));
	snprintf(expected, sizeof(expected), "--%s-- malloc(100) = 0x", name + strlen("log."));
	EXPECT_NE(NULL, strstr(self->log, expected));
	/* The log includes the malloc(9) call that the program made after it had closed its standard error. */
	snprintf(expected, sizeof(expected), "--%s-- malloc(9) = 0x", name + strlen("log."));
	EXPECT_NE(NULL, strstr(self->log, expected));
	line = strstr(self->log, "heap allocs:");
	ASSERT_NE(NULL, line);
	EXPECT_NE(NULL, strstr(line, "; wrote /dev/null\n"));
	EXPECT_EQ(0, ctl_find_files(".massif-log", name));
}

/* An old log is replaced, and nothing is printed on standard error. */
TEST_F(own, log_file_without_number)
{
	ctl_write_file("log.plain", "old and longer than what is new\n", 0644);
	setenv("LOG_NAME", "plain", 1);
	RUN("--log-file=log.%q{LOG_NAME}", ctl_target("heap_example"));
	self->log = ctl_read_file("log.plain");
	ASSERT_NE(NULL, self->log);
	EXPECT_EQ(self->log, strstr(self->log, "massif-ctl: Parent PID: "));
	EXPECT_EQ(NULL, strstr(self->log, "old"));
	EXPECT_STREQ("", self->result.err);
}

TEST_F(own, log_file_of_what_is_no_program)
{
	char name[256];

	RUN("--log-file=log.%p", "./no-such-program");
	EXPECT_EQ(127, ctl_exit_code(&self->result));
	ASSERT_EQ(1, ctl_find_files("log.", name));
	self->log = ctl_read_file(name);
	EXPECT_NE(NULL, strstr(self->log, "massif-ctl: ./no-such-program: cannot be executed"));
}

TEST_F(own, log_file_that_cannot_be)
{
	static const struct {
		const char *option, *err;
	} cases[] = {
		{ "--log-file=none/x",
		  "massif-ctl: Cannot create log file 'none/x': No such file or directory\n" },
		{ "--log-file=", "massif-ctl: Bad option: --log-file=\n"
				 "massif-ctl: No filename given\n"
				 "massif-ctl: Use --help for more information or consult the user "
				 "manual.\n" },
		{ "--log-file=%z", "massif-ctl: Bad option: --log-file=%z\n"
				   "massif-ctl: Expected 'p' or 'q' or '%' after '%'\n"
				   "massif-ctl: Use --help for more information or consult the user "
				   "manual.\n" },
		{ "--log-fd=977",
		  "massif-ctl: cannot write to descriptor 977 of --log-fd: Bad file descriptor\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		RUN(cases[i].option, "touch", "log.started");
		EXPECT_EQ(1, ctl_exit_code(&self->result));
		EXPECT_STREQ(cases[i].err, self->result.err);
		EXPECT_NE(0, access("log.started", F_OK));
		ctl_result_free(&self->result);
	}
}

/* If there are several --log-fd and --log-file options, the last one counts. */
TEST_F(own, log_fd)
{
	RUN("--log-file=log.not", "--log-fd=1", ctl_target("heap_example"));
	EXPECT_STREQ("", self->result.err);
	EXPECT_NE(NULL, strstr(self->result.out, "; wrote /dev/null\n"));
	EXPECT_NE(0, access("log.not", F_OK));
}

/* Nothing but the lines of --trace-malloc is printed. */
TEST_F(own, heap_no_has_nothing_to_tell)
{
	RUN("-q", "--heap=no", "--trace-malloc=yes", "--stats=yes", "-v", "-v", "-v",
	    ctl_target("heap_example"));
	self->log = lines_of(self->result.err, " startup ");
	EXPECT_EQ(self->log, strstr(self->log, "Massif: startup S.  0 (t:0, hp:0, ex:0, st:0)\n"
					       "Massif: heap allocs:           0\n"));
	EXPECT_EQ(NULL, strstr(self->result.err, "malloc("));
}

TEST_HARNESS_MAIN
