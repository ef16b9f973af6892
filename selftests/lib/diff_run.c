// SPDX-License-Identifier: GPL-2.0
// Runs a program under Valgrind's Massif and under massif-ctl, and compares the files.

#include "selftests/lib/diff_run.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/diff_end.h"

#define VALGRIND "/usr/bin/valgrind"

/*
 * The runs of a scenario: OURS under massif-ctl, THEIRS under Valgrind, and THEIRS_ADAPTED under Valgrind with
 * arguments, options or a library that make Valgrind's file equal to massif-ctl's. Each run writes a file
 * massif.out.NAME, with its own NAME.
 */
enum side { OURS, THEIRS, THEIRS_ADAPTED, N_SIDES };

static const char *const side_names[N_SIDES] = { "ours", "theirs", "adapted" };

struct run {
	enum side side;
	pid_t pid;
	int status;
	/* contents of the run's massif.out file and of its log, made comparable with the other runs' */
	char *text, *log;
	/* contents of the massif.out file as written, not made comparable; only set for the run under massif-ctl */
	char *raw;
	bool ends;	  /* the massif.out file contains a snapshot taken at the end of the program */
	const char *const *options;
};

bool diff_can_run(void)
{
	return access(VALGRIND, X_OK) == 0;
}

/*
 * Input of set_up(), which prepares the child before its exec: the run that the child executes, and the libraries to
 * preload.
 */
static enum side starting;
static char *preload;

/* Returns the path of the file in which libdiff_end.so records the program's state when the program ends. */
static const char *end_file(enum side side, char *path, size_t size)
{
	char directory[4000];

	if (!getcwd(directory, sizeof(directory)))
		abort();
	snprintf(path, size, "%s/massif.out.%s.end", directory, side_names[side]);
	return path;
}

/*
 * Runs in the child. The option that names the output file is the same for all runs, so that their desc lines are
 * equal.
 */
static void set_up(void)
{
	char log[64], end[4096];
	int null = open("/dev/null", O_RDWR), fd;

	snprintf(log, sizeof(log), "log.%s", side_names[starting]);
	fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (null < 0 || fd < 0)
		_exit(98);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	close(null);
	close(fd);
	unsetenv("VALGRIND_OPTS");
	unsetenv("MASSIF_OPTS");
	setenv("HOME", "/nonexistent", 1);
	setenv("SIDE", side_names[starting], 1);
	setenv("DIFF_END", end_file(starting, end, sizeof(end)), 1);
	if (preload)
		setenv("LD_PRELOAD", preload, 1);
}

static const char *const *add_words(const char **to, const char *const *words)
{
	while (*words)
		*to++ = *words++;
	return to;
}

/* Returns the LD_PRELOAD list for Valgrind: libdiff_end.so, and @library unless it is NULL. */
static char *make_preload(const char *library)
{
	char *first = strdup(ctl_target("libdiff_end.so")), *both;

	if (!library)
		return first;
	if (asprintf(&both, "%s:%s", first, ctl_target(library)) < 0)
		abort();
	free(first);
	return both;
}

/* Starts a run. @library is an additional library to preload, or NULL. */
static void start(struct run *run, enum side side, const char *const *options, const char *target,
		  const char *const *args, const char *library)
{
	static const char *const common[] = { "-q", "--time-unit=B",
					      "--massif-out-file=massif.out.%q{SIDE}", NULL };
	static const char *const ours[] = { "massif-ctl", NULL };
	static const char *const theirs[] = { VALGRIND, "--tool=massif", "--run-libc-freeres=no",
					      NULL };
	const char *argv[4 * DIFF_WORDS_MAX] = { NULL };
	const char **end = argv;

	starting = side;
	preload = side == OURS ? NULL : make_preload(library);
	end = (const char **)add_words(end, side == OURS ? ours : theirs);
	end = (const char **)add_words(end, common);
	end = (const char **)add_words(end, options);
	*end++ = ctl_target(target);
	add_words(end, args);
	run->side = side;
	run->options = options;
	run->pid = ctl_start(set_up, argv);
	free(preload);
}

static const char *next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end ? end + 1 : line + strlen(line);
}

static bool begins(const char *line, const char *word)
{
	return strncmp(line, word, strlen(word)) == 0;
}

/*
 * Returns the text after the name of a thread's entry function, or NULL if @text does not begin with that name. Under
 * Valgrind the entry function is clone(); without it, clone3().
 */
static const char *thread_entry(const char *text)
{
	static const char *const names[] = { ": clone (clone.S:", ": clone3 (clone3.S:" };

	for (int i = 0; i < 2; i++) {
		if (begins(text, names[i]))
			return strchr(text, ')') + 1;
	}
	return NULL;
}

/*
 * Returns whether a line of a tree is not a real frame but something that Valgrind found beyond the outermost frame of
 * a stack. Valgrind keeps unwinding there, and mistakes argument counts and stack addresses for code addresses. Under
 * Valgrind, stack addresses are below 0x2000000000.
 */
static bool is_below_all(const char *line)
{
	const char *address = strstr(line, " 0x");
	uint64_t value;
	char *end;

	if (!address || address > strchr(line, '\n'))
		return false;
	value = strtoull(address + 1, &end, 16);
	return begins(end, ": ???\n") &&
	       (value < 0x1000 || (value >= 0x1ffe000000 && value < 0x2000000000));
}

/*
 * Copies a line of a tree, with placeholders for the code address and the thread's entry function. Returns the end of
 * the copy.
 */
static char *copy_tree_line(char *to, const char *line, const char *end)
{
	while (line < end) {
		const char *past = thread_entry(line);

		if (past) {
			to += sprintf(to, ": clone");
			line = past;
		} else if (begins(line, " 0x")) {
			to += sprintf(to, " 0xADDRESS");
			for (line += 3; isxdigit((unsigned char)*line); line++)
				;
		} else {
			*to++ = *line++;
		}
	}
	return to;
}

/*
 * Returns a copy of a massif.out file in which every address is replaced by 0xADDRESS, all threads have the same entry
 * function, and lines past the outermost frame of each stack are removed. Unless @head is set, the desc and cmd lines
 * are removed, too.
 */
static char *make_comparable(const char *text, bool head)
{
	char *copy = malloc(strlen(text) * 2 + 1), *to = copy, *parent = copy;
	size_t left_out = SIZE_MAX; /* lines of the tree at this depth or deeper are dropped */
	const char *end, *parent_line = text;

	if (!copy)
		abort();
	for (; *text; text = end) {
		size_t depth = strspn(text, " ");

		end = next_line(text);
		if (!head && (begins(text, "desc:") || begins(text, "cmd:")))
			continue;
		if (text[depth] != 'n') {
			memcpy(to, text, (size_t)(end - text));
			to += end - text;
			continue;
		}
		if (depth >= left_out)
			continue;
		left_out = SIZE_MAX;
		if (is_below_all(text)) {
			left_out = depth;
			to = parent + sprintf(parent, "%*sn0", (int)depth - 1, "");
			to = copy_tree_line(to, strchr(parent_line, ':'), text);
			continue;
		}
		parent = to;
		parent_line = text;
		to = copy_tree_line(to, text, end);
	}
	*to = '\0';
	return copy;
}

/*
 * Copies a line of Massif's log to @to, without the parts that differ from massif-ctl's line. The number of frames
 * removed below main depends on what Valgrind finds on the stack below the outermost frame. In Valgrind, realloc(NULL,
 * n) appears as malloc called by realloc, and posix_memalign as memalign, so each pair of names is treated as equal.
 */
static char *copy_account_line(char *to, const char *line, const char *end)
{
	static const char below[] = "main/below main: filtering ";
	static const struct {
		const char *line, *copy;
	} rows[] = {
		{ "removing top fn realloc from", "removing top fn malloc from stacktrace\n" },
		{ "removing top fn posix_memalign from", "removing top fn memalign from stacktrace\n" },
		{ "filtering alloc fn realloc\n", "" },
		{ "filtering alloc fn posix_memalign\n", "" },
	};

	if (begins(line, below))
		return to + sprintf(to, "%s+\n", below);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (begins(line, rows[i].line))
			return stpcpy(to, rows[i].copy);
	}
	return mempcpy(to, line, (size_t)(end - line));
}

/*
 * Extracts Massif's log, which consists of the lines that begin with "--PID-- Massif: ". Drops the list of allocation
 * functions from it, because Valgrind 3.27 and 3.19 print different lists.
 */
static char *extract_account(const char *log)
{
	static const char sender[] = "-- Massif: ";
	char *account = malloc(strlen(log) + 1), *to = account;
	bool listing = false;
	const char *end;

	if (!account)
		abort();
	for (; *log; log = end) {
		const char *found = strstr(log, sender);

		end = next_line(log);
		if (!begins(log, "--") || !found || found > end)
			continue;
		found += strlen(sender);
		if (begins(found, "alloc-fns:") || begins(found, "ignore-fns:"))
			listing = *found == 'a';
		if (!listing)
			to = copy_account_line(to, found, end);
	}
	*to = '\0';
	return account;
}

/*
 * Only massif-ctl takes a snapshot at the program's end. To make the two runs comparable, this function removes that
 * snapshot from massif-ctl's log and adds a corresponding snapshot to Valgrind's file.
 */
static char *equalise_end(struct run *run, char *text, const struct run *ours)
{
	char path[4096], *end, *with_end;

	if (run->side == OURS) {
		run->ends = strstr(run->log, "endPEAK ");
		diff_end_remove_from_log(run->log);
		run->raw = strdup(text);
		return text;
	}
	end = ctl_read_file(end_file(run->side, path, sizeof(path)));
	if (end)
		diff_end_uncount(run->log);
	with_end = diff_end_add(text, end, ours->raw, run->options, &run->ends);
	free(end);
	free(text);
	return with_end;
}

/* Waits for the run to end and reads its files. Must be called for massif-ctl's run, @ours, before Valgrind's runs. */
static bool finish(struct run *run, const struct diff_scenario *scenario, const struct run *ours)
{
	char name[64], *text, *log;

	if (waitpid(run->pid, &run->status, 0) != run->pid)
		return false;
	snprintf(name, sizeof(name), "log.%s", side_names[run->side]);
	log = ctl_read_file(name);
	run->log = extract_account(log ? log : "");
	snprintf(name, sizeof(name), "massif.out.%s", side_names[run->side]);
	text = ctl_read_file(name);
	if (run->side == THEIRS && scenario->they_have_none) {
		free(log);
		if (text)
			fprintf(stderr, "# a file, though: %s\n", scenario->why);
		run->text = text;
		return !text;
	}
	if (text && ctl_is_massif_file(text)) {
		text = equalise_end(run, text, ours);
		run->text = make_comparable(text, !scenario->why);
		free(text);
		free(log);
		return true;
	}
	free(text);
	fprintf(stderr, "# %s: no good massif.out (status 0x%x): %s\n", side_names[run->side],
		(unsigned int)run->status, log ? log : "");
	free(log);
	return false;
}

/* Prints the first difference between @a and @b. */
static void show_difference(const char *a, const char *b)
{
	const char *snapshot = a;
	unsigned int line = 1;

	while (*a && *b) {
		const char *a_end = next_line(a), *b_end = next_line(b);

		if (a_end - a != b_end - b || memcmp(a, b, (size_t)(a_end - a)) != 0)
			break;
		if (begins(a, "snapshot="))
			snapshot = a;
		a = a_end;
		b = b_end;
		line++;
	}
	fprintf(stderr, "# line %u, in %.*s:\n#   ours   %.*s\n#   theirs %.*s\n", line,
		(int)strcspn(snapshot, "\n"), snapshot, (int)strcspn(a, "\n"), a,
		(int)strcspn(b, "\n"), b);
}

static bool are_equal(const char *ours, const char *theirs)
{
	if (strcmp(ours, theirs) == 0)
		return true;
	show_difference(ours, theirs);
	return false;
}

/* Returns whether both files are equal. Times may differ, and extra bytes may differ within the bounds of @scenario. */
static bool equal_but_extra(const char *ours, const char *theirs,
			    const struct diff_scenario *scenario)
{
	static const char extra[] = "mem_heap_extra_B=", time[] = "time=";

	while (*ours && *theirs) {
		const char *our_end = next_line(ours), *their_end = next_line(theirs);

		if (begins(ours, extra) && begins(theirs, extra)) {
			uint64_t our_bytes = strtoull(ours + strlen(extra), NULL, 10);
			uint64_t their_bytes = strtoull(theirs + strlen(extra), NULL, 10);

			if (their_bytes > our_bytes + scenario->more_extra ||
			    our_bytes > their_bytes + scenario->fewer_extra)
				break;
		} else if (!(begins(ours, time) && begins(theirs, time)) &&
			   (our_end - ours != their_end - theirs ||
			    memcmp(ours, theirs, (size_t)(our_end - ours)) != 0)) {
			break;
		}
		ours = our_end;
		theirs = their_end;
	}
	if (!*ours && !*theirs)
		return true;
	show_difference(ours, theirs);
	return false;
}

/* Returns a copy of @text in which the description on each line that contains @words is replaced with ???. */
static char *remove_names(const char *text, const char *words)
{
	char *copy = malloc(strlen(text) + 1), *to = copy;
	const char *end;

	if (!copy)
		abort();
	for (; *text; text = end) {
		static const char address[] = "0xADDRESS: ";
		const char *found = strstr(text, words), *name = strstr(text, address);

		end = next_line(text);
		if (found && found < end && name && name < end)
			to += sprintf(to, "%.*s???\n", (int)(name + strlen(address) - text), text);
		else
			to = mempcpy(to, text, (size_t)(end - text));
	}
	*to = '\0';
	return copy;
}

static uint64_t heap_at_end(const char *text)
{
	uint64_t heap = 0;

	for (; *text; text = next_line(text)) {
		if (begins(text, "mem_heap_B="))
			heap = strtoull(strchr(text, '=') + 1, NULL, 10);
	}
	return heap;
}

static bool ends_with_more(const char *ours, const char *theirs, uint64_t more)
{
	if (heap_at_end(theirs) - heap_at_end(ours) == more)
		return true;
	fprintf(stderr, "# heap at the end: %lu, Valgrind's %lu\n", heap_at_end(ours),
		heap_at_end(theirs));
	return false;
}

static bool compare_adapted(const struct diff_scenario *scenario, const char *ours,
			    const char *theirs)
{
	char *replaced;
	bool equal;

	if (scenario->more_extra || scenario->fewer_extra)
		return equal_but_extra(ours, theirs, scenario);
	if (scenario->more_heap_at_end)
		return ends_with_more(ours, theirs, scenario->more_heap_at_end);
	if (!scenario->their_unnamed)
		return are_equal(ours, theirs);
	replaced = remove_names(ours, scenario->their_unnamed);
	equal = are_equal(replaced, theirs);
	free(replaced);
	return equal;
}

static bool compare(const struct diff_scenario *scenario, const struct run *runs)
{
	const struct run *ours = &runs[OURS], *theirs = &runs[THEIRS];
	const struct run *adapted = runs[THEIRS_ADAPTED].pid ? &runs[THEIRS_ADAPTED] : theirs;

	if (ours->status != adapted->status) {
		fprintf(stderr, "# status 0x%x, Valgrind's 0x%x\n", (unsigned int)ours->status,
			(unsigned int)adapted->status);
		return false;
	}
	if (scenario->log && (!*theirs->log || !are_equal(ours->log, theirs->log) ||
			      ours->ends != theirs->ends))
		return false;
	if (!scenario->why)
		return are_equal(ours->text, theirs->text);
	if (theirs->text && strcmp(ours->text, theirs->text) == 0) {
		fprintf(stderr, "# no difference, though: %s\n", scenario->why);
		return false;
	}
	return compare_adapted(scenario, ours->text, adapted->text);
}

bool diff_run(const struct diff_scenario *scenario)
{
	const char *const *args = scenario->args, *const *options = scenario->options;
	bool adapted =
		scenario->their_args[0] || scenario->their_options[0] || scenario->their_library;
	struct run runs[N_SIDES] = { 0 };
	bool fine;

	/* A file left by the previous scenario must not be mistaken for a new one. */
	ctl_remove_files("massif.out.");
	/* Start all runs before waiting for any of them, because the runs under Valgrind take a long time. */
	if (!scenario->options_are_new)
		start(&runs[THEIRS], THEIRS, options, scenario->target, args, NULL);
	start(&runs[OURS], OURS, options, scenario->target, args, NULL);
	if (adapted)
		start(&runs[THEIRS_ADAPTED], THEIRS_ADAPTED,
		      scenario->their_options[0] ? scenario->their_options : options,
		      scenario->target, scenario->their_args[0] ? scenario->their_args : args,
		      scenario->their_library);
	fine = true;
	for (int side = 0; side < N_SIDES; side++) {
		if (runs[side].pid && !finish(&runs[side], scenario, &runs[OURS]))
			fine = false;
	}
	fine = fine && compare(scenario, runs);
	for (int side = 0; side < N_SIDES; side++) {
		free(runs[side].text);
		free(runs[side].log);
		free(runs[side].raw);
	}
	return fine;
}
