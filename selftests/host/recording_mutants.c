// SPDX-License-Identifier: GPL-2.0
// Recordings and massif.out files of real runs, changed at random, under every command that reads them: the commands
// refuse a file with a message, or read it; they neither crash, nor hang, nor leak, nor use much memory. `make check' runs
// it with AddressSanitizer as well (host/sanitized). MASSIF_MUTANTS is the number of mutants of each kind, and
// MASSIF_FIRST the first of them; make check-recordings: 10,000.

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "base/bytes.h"
#include "ctl/cmd/command.h"
#include "report/writers.h"
#include "selftests/lib/ctl_run.h"
#include "selftests/lib/model_oracle.h"
#include "selftests/lib/mutant.h"

#define USUAL	      300	   /* mutants of each kind, unless MASSIF_MUTANTS says otherwise */
#define BATCH	      100u	   /* mutants that one process reads */
#define BATCH_SECONDS 120
#define OUTPUT_MOST   (64u << 20)  /* further output is lost, as on a full disk */
#define MEMORY_MOST   (1200l << 10) /* of a process that reads a batch, in KiB; sanitizers keep what is freed */

#define MUTANT "mutant.changed"
#define NAMED  "mutant.named"
#define FOUND  "found.mutant" /* the file is kept here if a command fails */
#define BASES  4

static const char *const recordings[BASES] = { "mutant.heap", "mutant.children", "mutant.threads", "mutant.perl" };
static const char *const texts[BASES] = { "mutant.out.1", "mutant.out.2", "mutant.out.3", "mutant.out.4" };

void __lsan_do_leak_check(void) __attribute__((weak));

/* Leaves, in the current directory, a recording and a massif.out file of each run. */
static void make_bases(struct ctl_result *result)
{
	static const char script[] = "my @l = map { [$_, \"y$_\"] } 1 .. 500; my %h = map { $_ => 'x' x $_ } 1 .. 50";
	const char *heap = ctl_target("heap_example");
	char children[4096];

	snprintf(children, sizeof(children), "%s; %s", heap, heap);
	CTL_RUN(result, "massif-ctl", "record", "-q", "--record=mutant.heap", "--massif-out-file=mutant.out.1",
		"--detailed-freq=1", "--time-unit=B", heap);
	ctl_result_free(result);
	CTL_RUN(result, "massif-ctl", "record", "-q", "--record=mutant.children", "--massif-out-file=mutant.out.5",
		"--trace-children=yes", "sh", "-c", children);
	ctl_result_free(result);
	CTL_RUN(result, "massif-ctl", "record", "-q", "--record=mutant.perl", "--massif-out-file=mutant.out.2",
		"--threshold=0.1", "/usr/bin/perl", "-e", script);
	ctl_result_free(result);
	CTL_RUN(result, "massif-ctl", "record", "-q", "--record=mutant.threads", "--massif-out-file=mutant.out.3",
		"--separate-threads=yes", "--record-detail=full", ctl_target("heap_thread_names"));
	ctl_result_free(result);
	/* Without Valgrind, the text of its form is another of ours. */
	CTL_RUN(result, "valgrind", "-q", "--tool=massif", "--massif-out-file=mutant.out.4", heap);
	ctl_result_free(result);
	if (access("mutant.out.4", F_OK))
		CTL_RUN(result, "massif-ctl", "-q", "--massif-out-file=mutant.out.4", "--stacks=yes", heap);
}

static struct mf_bytes read_base(const char *path)
{
	struct mf_bytes file = { 0 };
	FILE *in = fopen(path, "re");
	char part[4096];
	size_t got;

	while (in && (got = fread(part, 1, sizeof(part), in)) > 0)
		mf_bytes_add(&file, part, got);
	if (in)
		fclose(in);
	return file;
}

static void write_mutant(const struct mf_bytes *file)
{
	FILE *out = fopen(MUTANT, "we");

	if (!out || (file->size && fwrite(file->data, 1, file->size, out) != file->size) || fclose(out))
		abort();
}

/* Makes mutant @number of a base. Half of the mutants of recordings have sections with the right checksums. */
static void make_mutant(const char *base, bool is_recording, uint64_t number)
{
	struct mf_bytes file = read_base(base);
	uint64_t seed = number;

	oracle_random(&seed);
	if (is_recording && number % 4)
		for (uint64_t n = 1 + oracle_below(&seed, 2); n; n--)
			mutant_change_section(&file, &seed);
	else
		mutant_change(&file, &seed);
	write_mutant(&file);
	mf_bytes_deinit(&file);
}

/* The words of a command. BASE is the file that was changed. */
#define BASE  "BASE"
#define WORDS 8

struct command {
	int (*run)(int argc, char **argv);
	int most; /* the largest status */
	bool binary; /* the output is no text */
	const char *words[WORDS];
};

/* Of these, each mutant gets the next one. */
static const struct command changing[][6] = {
	{
		{ mf_command_show, 1, .words = { "show", MUTANT } },
		{ mf_command_show, 1, .words = { "show", "--tree", "--threshold=0", MUTANT } },
		{ mf_command_show, 1, .words = { "show", "--by=stack", "--top=1000", MUTANT } },
		{ mf_command_show, 1, .words = { "show", "--sizes", MUTANT } },
		{ mf_command_show, 1, .words = { "show", "--sort=growth", "--by=file", MUTANT } },
		{ mf_command_show, 1, .words = { "show", "--sort=temporary", "--by=thread", MUTANT } },
	},
	{
		{ mf_command_show, 1, .words = { "show", "--lifetimes", MUTANT } },
		{ mf_command_show, 1, .words = { "show", "--lifetimes", "--by=stack", MUTANT } },
		{ mf_command_show, 1, .words = { "show", "--sizes", "--by=site", "--top=1", MUTANT } },
		{ mf_command_show, 1, .words = { "show", "--sizes", "--through=m*", MUTANT } },
		{ mf_command_show, 1, .words = { "show", "--sort=largest", "--inclusive", MUTANT } },
		{ mf_command_show, 1, .words = { "show", "--sort=blocks", "--tree", MUTANT } },
	},
	{
		{ mf_command_show, 1, .words = { "show", "--lifetimes=allocations", MUTANT } },
		{ mf_command_show, 1, .words = { "show", "--lifetimes=allocations", "--by=stack", MUTANT } },
		{ mf_command_show, 1, .words = { "show", "--temporary=7", "--sort=temporary", MUTANT } },
		{ mf_command_diff, 2, .words = { "diff", "--value=temporary", "--temporary=1", BASE, MUTANT } },
		{ mf_command_check, 2, .words = { "check", "--max-temporary=5", "--temporary=1", MUTANT } },
		{ mf_command_report, 1, .words = { "report", "--output=-", "--temporary=3", MUTANT }, .binary = true },
	},
	{
		{ mf_command_diff, 2, .words = { "diff", BASE, MUTANT } },
		{ mf_command_diff, 2, .words = { "diff", MUTANT, BASE } },
		{ mf_command_diff, 2, .words = { "diff", MUTANT, MUTANT } },
		{ mf_command_diff, 2, .words = { "diff", "--by=stack", "--at=end", BASE, MUTANT } },
		{ mf_command_diff, 2, .words = { "diff", "--by=library", "--filter=m", MUTANT, BASE } },
		{ mf_command_diff, 2, .words = { "diff", "--by=function", "--tolerance=5", "--min=1", BASE, MUTANT } },
	},
	{
		{ mf_command_check, 2, .words = { "check", "--max-peak=1K", MUTANT } },
		{ mf_command_check, 2, .words = { "check", "--max-leak-sites=1", "--format=tap", MUTANT } },
		{ mf_command_check, 2, .words = { "check", "--max-allocations=5", "--format=junit", MUTANT } },
		{ mf_command_check, 2, .words = { "check", "--max-temporary=50", "--max-end=1K", MUTANT } },
		{ mf_command_check, 2, .words = { "check", "--max-allocated=1M", "--max-peak=1M", MUTANT } },
		{ mf_command_check, 2, .words = { "check", "--max-peak=1", "--max-end=1", "--format=junit", MUTANT } },
	},
	{
		{ mf_command_report, 1, .words = { "report", "--output=-", MUTANT }, .binary = true },
		{ mf_command_report, 1, .words = { "report", "--output=-", MUTANT, BASE }, .binary = true },
		{ mf_command_report, 1, .words = { "report", "--output=-", BASE, MUTANT }, .binary = true },
		{ mf_command_report, 1, .words = { "report", "--output=-", MUTANT, MUTANT }, .binary = true },
		{ mf_command_report, 1, .words = { "report", "--output=-", "--depth=200", MUTANT }, .binary = true },
		{ mf_command_report, 1, .words = { "report", "--output=-", "--through=m*", MUTANT }, .binary = true },
	},
	{
		{ mf_command_export, 1, .words = { "export", MUTANT } },
		{ mf_command_export, 1, .words = { "export", "--threshold=0", "--depth=200", MUTANT } },
		{ mf_command_export, 1, .words = { "export", "--to=collapsed", "--at=0", MUTANT } },
		{ mf_command_export, 1, .words = { "export", "--show-below-main=yes", MUTANT } },
		{ mf_command_export, 1, .words = { "export", "--to=pprof", "--at=end", MUTANT }, .binary = true },
		{ mf_command_export, 1, .words = { "export", "--sym-offsets=yes", MUTANT } },
	},
};

/* What all processes of the test have in common. */
struct shared {
	uint64_t number;    /* the mutant that is read */
	char command[256];  /* and the command that reads it */
	char mistake[4096]; /* why the test has failed */
	uint64_t n_runs, n_refused;
};

/* Reads what was written to @fd, and empties it. */
static size_t take_output(int fd, char *text, size_t room)
{
	off_t size = lseek(fd, 0, SEEK_CUR);
	ssize_t got = pread(fd, text, room - 1, 0);

	text[got > 0 ? got : 0] = '\0';
	if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET))
		abort();
	return (size_t)size;
}

/* Massif's and Callgrind's formats have the command line and the options as they are. */
static bool has_controls(const char *text)
{
	for (const char *line = text, *end; *line; line = end + !!*end) {
		end = strchrnul(line, '\n');
		for (const char *at = line; at < end; at++)
			if ((unsigned char)*at < ' ' && strncmp(line, "cmd: ", 5) != 0 && strncmp(line, "desc: ", 6) != 0)
				return true;
	}
	return false;
}

/* Runs a command with its output in the files that are standard output and error. Returns whether all is as it should be. */
static bool run(struct shared *shared, const struct command *command, const char *base)
{
	static char out[65536], err[4096];
	char *argv[WORDS + 1] = { NULL };
	const char *mistake = NULL;
	int argc = 0, status;

	shared->command[0] = '\0';
	for (; argc < WORDS && command->words[argc]; argc++) {
		argv[argc] = strdup(strcmp(command->words[argc], BASE) == 0 ? base : command->words[argc]);
		strncat(shared->command, argv[argc], sizeof(shared->command) - strlen(shared->command) - 2);
		strcat(shared->command, " ");
	}
	status = command->run(argc - 1, argv + 1);
	fflush(stdout);
	clearerr(stdout);
	fflush(stderr);
	for (int i = 0; i < argc; i++)
		free(argv[i]);
	take_output(STDOUT_FILENO, out, sizeof(out));
	take_output(STDERR_FILENO, err, sizeof(err));
	if (status < 0 || status > command->most)
		mistake = "its status is not one of those that the manual has";
	else if (status == command->most && command->most == 1 && !err[0])
		mistake = "it failed without a message";
	else if (!command->binary && has_controls(out))
		mistake = "its output has control characters";
	else if (strstr(err, "Sanitizer") || strstr(err, "runtime error"))
		mistake = "a sanitizer found something";
	if (mistake)
		snprintf(shared->mistake, sizeof(shared->mistake), "%s; status %d: %.3000s", mistake, status, err);
	shared->n_runs++;
	shared->n_refused += !!strstr(err, "cannot read");
	return !mistake;
}

/* What symbolize writes can be read, whatever it was made of. */
static bool symbolize(struct shared *shared, const char *base)
{
	static const struct command command = { mf_command_symbolize, 1, .words = { "symbolize", "-o", NAMED, MUTANT } },
				    reading = { mf_command_show, 0, .words = { "show", NAMED } };

	unlink(NAMED);
	return run(shared, &command, base) && (access(NAMED, F_OK) || run(shared, &reading, base));
}

static bool read_mutant(struct shared *shared, const char *base, bool is_recording)
{
	uint64_t turn = shared->number / BASES % 6;
	char to[64];

	make_mutant(base, is_recording, shared->number);
	for (size_t i = 0; i < sizeof(changing) / sizeof(changing[0]); i++)
		if (!run(shared, &changing[i][turn], base))
			return false;
	for (enum mf_format format = 0; format < MF_FORMATS; format++) {
		struct command command = { mf_command_export, 1, format == MF_FORMAT_PPROF, { "export", to, MUTANT } };

		if (!mf_writers[format].meaning)
			continue;
		snprintf(to, sizeof(to), "--to=%s", mf_writers[format].name);
		if (!run(shared, &command, base))
			return false;
	}
	return symbolize(shared, base);
}

static void redirect(int fd)
{
	int file = open(fd == STDOUT_FILENO ? "mutant.stdout" : "mutant.stderr", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (file < 0 || dup2(file, fd) < 0)
		abort();
	close(file);
}

/* Reads mutants @first to @end - 1. Does not return. */
static void read_batch(struct shared *shared, const char *const *bases, bool is_recording, uint64_t first, uint64_t end)
{
	const struct rlimit output = { OUTPUT_MOST, OUTPUT_MOST };
	bool fine = true;

	alarm(BATCH_SECONDS);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &output);
	redirect(STDOUT_FILENO);
	redirect(STDERR_FILENO);
	for (uint64_t i = first; fine && i < end; i++) {
		shared->number = i;
		fine = read_mutant(shared, bases[i % BASES], is_recording);
	}
	if (fine && __lsan_do_leak_check)
		__lsan_do_leak_check();
	_exit(!fine);
}

FIXTURE(mutants)
{
	struct shared *shared;
	struct ctl_result result;
};

FIXTURE_VARIANT(mutants)
{
	const char *const *bases;
	bool is_recording;
};

FIXTURE_VARIANT_ADD(mutants, of_recordings) { .bases = recordings, .is_recording = true };
FIXTURE_VARIANT_ADD(mutants, of_massif_out_files) { .bases = texts };

FIXTURE_SETUP(mutants)
{
	ctl_remove_files("mutant.");
	make_bases(&self->result);
	for (size_t i = 0; i < BASES; i++) {
		ASSERT_EQ(0, access(variant->bases[i], F_OK)) {
			TH_LOG("there is no %s: %s", variant->bases[i], self->result.err);
		}
	}
	self->shared = mmap(NULL, sizeof(*self->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
}

FIXTURE_TEARDOWN(mutants)
{
	ctl_result_free(&self->result);
	ctl_remove_files("mutant.");
}

TEST_F_TIMEOUT(mutants, are_refused_or_read, 36000)
{
	const char *chosen = getenv("MASSIF_MUTANTS");
	const char *first_chosen = getenv("MASSIF_FIRST");
	uint64_t n = chosen ? strtoull(chosen, NULL, 10) : USUAL, begin = first_chosen ? strtoull(first_chosen, NULL, 10) : 0;
	struct shared *shared = self->shared;
	long most = 0;

	fflush(stdout);
	for (uint64_t first = begin; first < begin + n; first += BATCH) {
		uint64_t end = first + BATCH < begin + n ? first + BATCH : begin + n;
		struct rusage usage;
		char *text;
		int status;
		pid_t pid = fork();

		if (!pid)
			read_batch(shared, variant->bases, variant->is_recording, first, end);
		ASSERT_EQ(pid, wait4(pid, &status, 0, &usage));
		most = usage.ru_maxrss > most ? usage.ru_maxrss : most;
		text = status ? ctl_read_file("mutant.stderr") : NULL;
		/* The next run has other addresses, so it cannot make the same file again. */
		if (status)
			rename(MUTANT, FOUND);
		ASSERT_EQ(0, status) {
			TH_LOG("mutant %" PRIu64 " of %s, massif-ctl %s (" FOUND "): %s\n%s", shared->number,
			       variant->bases[shared->number % BASES], shared->command, shared->mistake, text ?: "");
		}
	}
	TH_LOG("%" PRIu64 " mutants, %" PRIu64 " commands, %" PRIu64 " refused the file; %ld MiB", n, shared->n_runs,
	       shared->n_refused, most >> 10);
	EXPECT_GT(MEMORY_MOST, most);
	/* Of both kinds there are many. */
	EXPECT_LT(shared->n_runs / 20, shared->n_refused);
	EXPECT_GT(shared->n_runs / 20 * 19, shared->n_refused);
}

TEST_HARNESS_MAIN
