// SPDX-License-Identifier: GPL-2.0
// Bad input: checks the exact messages and the status, and that no file is written.

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

#define ADVICE "massif-ctl: Use --help for more information or consult the user manual.\n"

#define WORDS 6

/* The arguments after argv[0], which is always massif-ctl. */
static const struct {
	const char *words[WORDS];
	int status;
	const char *err;
} cases[] = {
	{ { NULL }, 1,
	  "massif-ctl: no program specified\nmassif-ctl: Use --help for more information.\n" },
	{ { "run" }, 1,
	  "massif-ctl: no program specified\nmassif-ctl: Use --help for more information.\n" },
	{ { "--depth=5" }, 1,
	  "massif-ctl: no program specified\nmassif-ctl: Use --help for more information.\n" },
	{ { "--depth=0", "true" }, 1,
	  "massif-ctl: Bad option: --depth=0\n"
	  "massif-ctl: '--depth' argument must be between 1 and 200\n" ADVICE },
	{ { "help", "snapshots" }, 1,
	  "massif-ctl: help: there is no command 'snapshots'\nmassif-ctl: Did you mean 'snapshot'?\n" },
	{ { "help", "perl" }, 1, "massif-ctl: help: there is no command 'perl'\n" },
	{ { "help", "show", "diff" }, 1, "massif-ctl: help takes one command\n" },
	{ { "version", "show" }, 1, "massif-ctl: version takes no arguments\n" },
	{ { "doctor", "--mode=x" }, 2,
	  "massif-ctl: Bad option: --mode=x\n"
	  "massif-ctl: doctor takes --mode=heap, --mode=pages or --mode=all (the default)\n" },
	{ { "doctor", "heap" }, 2,
	  "massif-ctl: Unexpected argument: heap\n"
	  "massif-ctl: doctor takes --mode=heap, --mode=pages or --mode=all (the default)\n" },
	{ { "run", "--wrong", "true" }, 1, "massif-ctl: Unknown option: --wrong\n" ADVICE },
	/* Valgrind accepts this value of --command-line-only, and treats it as `no`. */
	{ { "--command-line-only=x", "true" }, 1,
	  "massif-ctl: Bad option: --command-line-only=x\n"
	  "massif-ctl: Invalid boolean value 'x' (should be 'yes' or 'no')\n" ADVICE },
	/* massif-ctl explains in several lines why it refuses this option. Each line begins with "massif-ctl: ". */
	{ { "--massif-out-file=~/x", "true" }, 1,
	  "massif-ctl: Bad option: --massif-out-file=~/x\n"
	  "massif-ctl: Filename begins with '~'\n"
	  "massif-ctl: You probably expected the shell to expand the '~', but it\n"
	  "massif-ctl: didn't.  The rules for '~'-expansion vary from shell to shell.\n"
	  "massif-ctl: You might have more luck using $HOME instead.\n" ADVICE },
	{ { "--massif-out-file=a%q{MASSIF_MISSING}", "true" }, 1,
	  "massif-ctl: Bad option: --massif-out-file=a%q{MASSIF_MISSING}\n"
	  "massif-ctl: Environment variable 'MASSIF_MISSING' is not set\n" ADVICE },
	{ { "--massif-out-file=none/x", "true" }, 1,
	  "massif-ctl: cannot write 'none/x': No such file or directory; choose another file with --massif-out-file\n" },
	{ { "--massif-out-file=e.directory", "true" }, 1,
	  "massif-ctl: cannot write 'e.directory': Is a directory; choose another file with --massif-out-file\n" },
	/* In these messages, %p is not replaced with the program's pid, which is not known yet. */
	{ { "--massif-out-file=none/x.%p", "true" }, 1,
	  "massif-ctl: cannot write 'none/x.%p': No such file or directory; choose another file with --massif-out-file\n" },
	{ { "--xtree-memory=allocs", "--xtree-memory-file=none/x.%p", "true" }, 1,
	  "massif-ctl: cannot write 'none/x.%p': No such file or directory; choose another file with --xtree-memory-file\n" },
	{ { "--xtree-memory=full", "--xtree-memory-file=a%q{MASSIF_MISSING}", "true" }, 1,
	  "massif-ctl: Bad option: --xtree-memory-file=a%q{MASSIF_MISSING}\n"
	  "massif-ctl: Environment variable 'MASSIF_MISSING' is not set\n" ADVICE },
	{ { "--xtree-memory=allocs", "--xtree-memory-file=%z", "true" }, 1,
	  "massif-ctl: Bad option: --xtree-memory-file=%z\n"
	  "massif-ctl: Expected 'p' or 'q' or '%' after '%'\n" ADVICE },
	{ { "no-such-program-here" }, 127,
	  "massif-ctl: no-such-program-here: command not found\n" },
	{ { "" }, 127, "massif-ctl: : command not found\n" },
	{ { "symbolise", "e.text" }, 127,
	  "massif-ctl: symbolise: command not found\n"
	  "massif-ctl: Did you mean 'massif-ctl symbolize'?\n" },
	{ { "./recor" }, 127, "massif-ctl: ./recor: cannot be executed: No such file or directory\n" },
	{ { "./e.missing" }, 127,
	  "massif-ctl: ./e.missing: cannot be executed: No such file or directory\n" },
	{ { "--", "--depth=3" }, 127, "massif-ctl: --depth=3: command not found\n" },
	{ { "./e.directory" }, 126, "massif-ctl: ./e.directory: is a directory, not a program\n" },
	{ { "./e.text" }, 126, "massif-ctl: ./e.text: cannot be executed: Permission denied\n" },
	{ { "./e.orphan" }, 127,
	  "massif-ctl: ./e.orphan: bad interpreter /none/sh: No such file or directory\n" },
	{ { "./e.loop" }, 126,
	  "massif-ctl: ./e.loop: cannot be executed: too many nested interpreters\n" },
	{ { "-q", "./e.garbage" }, 126,
	  "massif-ctl: ./e.garbage: cannot be executed: Exec format error\n" },
};

FIXTURE(errors) {
	struct ctl_result result;
};

FIXTURE_SETUP(errors)
{
	static const char garbage[] = "\177ELF\0\0\0\0garbage\n";
	FILE *file;

	ctl_remove_files("massif.out");
	mkdir("e.directory", 0755);
	ctl_write_file("e.text", "text\n", 0644);
	ctl_write_file("e.orphan", "#! /none/sh -x\n", 0755);
	ctl_write_file("e.loop", "#!./e.loop\n", 0755);
	file = fopen("e.garbage", "w");
	ASSERT_NE(NULL, file);
	fwrite(garbage, 1, sizeof(garbage), file);
	fclose(file);
	chmod("e.garbage", 0755);
	unsetenv("MASSIF_MISSING");
	unsetenv("MASSIF_PRELOAD");
}

FIXTURE_TEARDOWN(errors)
{
	EXPECT_EQ(0, ctl_find_files("massif.out", NULL));
	EXPECT_EQ(0, ctl_find_files(".massif-", NULL));
	ctl_result_free(&self->result);
	rmdir("e.directory");
	ctl_remove_files("e.");
}

TEST_F(errors, lines_and_status)
{
	struct ctl_result *result = &self->result;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *argv[WORDS + 2] = { "massif-ctl" };

		memcpy(argv + 1, cases[i].words, sizeof(cases[i].words));
		ctl_run(result, NULL, NULL, argv);
		EXPECT_STREQ(cases[i].err, result->err);
		EXPECT_STREQ("", result->out);
		EXPECT_EQ(cases[i].status, ctl_exit_code(result));
		ctl_result_free(result);
	}
}

/* A command with --help prints its usage and does nothing else. */
TEST_F(errors, help_of_verbs)
{
	static const char *const verbs[] = { "list", "snapshot", "detailed_snapshot", "all_snapshots",
					     "xtmemory", "doctor", "version" };

	for (size_t i = 0; i < 2 * sizeof(verbs) / sizeof(verbs[0]); i++) {
		const char *verb = verbs[i / 2];
		char usage[64];

		snprintf(usage, sizeof(usage), "usage: massif-ctl %s", verb);
		CTL_RUN(&self->result, "massif-ctl", verb, i % 2 ? "-h" : "--help");
		EXPECT_EQ(self->result.out, strstr(self->result.out, usage));
		EXPECT_STREQ("", self->result.err);
		EXPECT_EQ(0, ctl_exit_code(&self->result));
		ctl_result_free(&self->result);
	}
}

/* The reason is that of the system call. */
TEST_F(errors, output_that_cannot_be_written)
{
	static const char *const commands[] = { "version", "help", "help show", "completion bash", "doctor --mode=heap" };

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		char script[128];

		snprintf(script, sizeof(script), "exec \"$0\" %s >/dev/full", commands[i]);
		CTL_RUN(&self->result, "/bin/sh", "-c", script, ctl_path());
		EXPECT_STREQ("massif-ctl: cannot write to standard output: No space left on device\n", self->result.err)
		TH_LOG("%s", script);
		EXPECT_EQ(1, ctl_exit_code(&self->result));
		ctl_result_free(&self->result);
	}
}

/* massif-ctl help COMMAND is the same as massif-ctl COMMAND --help. */
TEST_F(errors, help_with_a_command)
{
	static const char *const verbs[] = { "show", "run", "attach", "help" };

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		char *wanted;

		CTL_RUN(&self->result, "massif-ctl", verbs[i], "--help");
		wanted = strdup(self->result.out);
		ctl_result_free(&self->result);
		CTL_RUN(&self->result, "massif-ctl", "help", verbs[i]);
		EXPECT_STREQ(wanted, self->result.out);
		EXPECT_EQ(0, ctl_exit_code(&self->result));
		ctl_result_free(&self->result);
		free(wanted);
	}
}

/* The help of everything names the options of run; those of the other commands are in their own help. */
TEST_F(errors, help_of_all_leads_to_that_of_one)
{
	CTL_RUN(&self->result, "massif-ctl", "--help");
	EXPECT_NE(NULL, strstr(self->result.out, "\n  massif-ctl show --help explains show, and so on for each command.\n"));
	EXPECT_NE(NULL, strstr(self->result.out, "\n  options of run and record (defaults in brackets):\n    --heap=yes|no"));
	EXPECT_EQ(NULL, strstr(self->result.out, "--leaks"));
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "massif-ctl", "show", "--help");
	EXPECT_NE(NULL, strstr(self->result.out, "\n    --leaks "));
	EXPECT_NE(NULL, strstr(self->result.out, "\n    --all-calls "));
}

TEST_F(errors, shim_not_found)
{
	setenv("MASSIF_PRELOAD", "/none/shim.so", 1);
	CTL_RUN(&self->result, "massif-ctl", "-q", "true");
	EXPECT_STREQ("massif-ctl: MASSIF_PRELOAD=/none/shim.so: No such file or directory; "
		     "unset it or correct it\n",
		     self->result.err);
	EXPECT_EQ(1, ctl_exit_code(&self->result));
}

TEST_F(errors, shim_cannot_be_named)
{
	ctl_write_file("e.a b", "", 0644);
	setenv("MASSIF_PRELOAD", "e.a b", 1);
	CTL_RUN(&self->result, "massif-ctl", "-q", "true");
	EXPECT_NE(NULL, strstr(self->result.err, "its path contains a blank or a colon"));
	EXPECT_EQ(1, ctl_exit_code(&self->result));
}

TEST_F(errors, no_module)
{
	char *end;

	if (access("/dev/massif", F_OK) == 0)
		SKIP(return, "massif.ko is loaded");
	CTL_RUN(&self->result, "massif-ctl", "--pages-as-heap", "echo", "started");
	EXPECT_STREQ("", self->result.out);
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	/* massif-ctl prints a single line, which names the missing device. */
	EXPECT_EQ(self->result.err, strstr(self->result.err, "massif-ctl: "));
	EXPECT_NE(NULL, strstr(self->result.err, "/dev/massif"));
	end = strchr(self->result.err, '\n');
	ASSERT_NE(NULL, end);
	EXPECT_STREQ("", end + 1);
}

static void go_to_proc(void)
{
	if (chdir("/proc"))
		_exit(98);
}

static void lose_directory(void)
{
	if (mkdir("e.lost", 0755) || chdir("e.lost") || rmdir("../e.lost"))
		_exit(98);
}

/*
 * A working directory in which no file can be created is detected, even though access(2) reports it as writable for
 * root.
 */
TEST_F(errors, working_directory)
{
	static void (*const places[])(void) = { go_to_proc, lose_directory };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		ctl_run(&self->result, NULL, places[i],
			(const char *const[]){ "massif-ctl", "echo", "started", NULL });
		EXPECT_STREQ("massif-ctl: cannot write 'massif.out.%p': No such file or directory; "
			     "choose another file with --massif-out-file\n",
			     self->result.err);
		EXPECT_STREQ("", self->result.out);
		EXPECT_EQ(1, ctl_exit_code(&self->result));
		ctl_result_free(&self->result);
	}
}

TEST_HARNESS_MAIN
