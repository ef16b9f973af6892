// SPDX-License-Identifier: GPL-2.0
// However a program ends, the file, its location, and the exit status are the same as under Valgrind's Massif.

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/diff_table.h"
#include "selftests/lib/massif_text.h"

/*
 * The shim is loaded into the program, so its thread-local variables add to the program's memory. Valgrind's own
 * variables do not.
 */
#define MORE_TLS                                                                             \
	.why = "the dynamic linker allocates 16 bytes a thread for the shim's own variables", \
	.their_library = "libdiff_tls.so"

/* Programs that end of their own accord. */
SCENARIO(return, "diff_ends", ARGS("return", "5"), WITH(ALL_TREES));
SCENARIO(exit, "diff_ends", ARGS("exit", "3"), WITH(ALL_TREES));
SCENARIO(exit_now, "diff_ends", ARGS("exit_now", "4"), WITH(ALL_TREES));
SCENARIO(exit_group, "diff_ends", ARGS("exit_group", "6"), WITH(ALL_TREES));
SCENARIO(quick_exit, "diff_ends", ARGS("quick_exit", "7"), WITH(ALL_TREES));
SCENARIO(exit_twice, "diff_ends", ARGS("exit_twice", "8"), WITH(ALL_TREES));
SCENARIO(exit_handlers, "diff_ends", ARGS("exit_handlers", "9"), WITH(ALL_TREES));
SCENARIO(destructors, "diff_ends", ARGS("destructors", "10"), WITH(ALL_TREES));

/* Programs that are sent a signal, by themselves or by another process. */
SCENARIO(sighup, "diff_ends", ARGS("signal", "1"), WITH(ALL_TREES));
SCENARIO(sigint, "diff_ends", ARGS("signal", "2"), WITH(ALL_TREES));
SCENARIO(sigquit, "diff_ends", ARGS("signal", "3"), WITH(ALL_TREES));
SCENARIO(sigkill_by_itself, "diff_ends", ARGS("signal", "9"), WITH(ALL_TREES));
SCENARIO(sigusr1, "diff_ends", ARGS("signal", "10"), WITH(ALL_TREES));
SCENARIO(sigterm, "diff_ends", ARGS("signal", "15"), WITH(ALL_TREES));
SCENARIO(sigxcpu, "diff_ends", ARGS("signal", "24"), WITH(ALL_TREES));
SCENARIO(sigxfsz, "diff_ends", ARGS("signal", "25"), WITH(ALL_TREES));
SCENARIO(signal_ignored, "diff_ends", ARGS("signal", "17"), WITH(ALL_TREES));
SCENARIO(sigalrm, "diff_ends", ARGS("alarm"), WITH(ALL_TREES));
SCENARIO(sigterm_of_another, "diff_ends", ARGS("killed", "15"), WITH(ALL_TREES));
/* massif-ctl's file must equal the one that Massif writes for a program that sends itself the same signal. */
SCENARIO(sigkill_of_another, "diff_ends", ARGS("killed", "9"), WITH(ALL_TREES),
	 .why = "Massif leaves no file of a program that another one killed with SIGKILL",
	 .they_have_none = true, .their_args = { "signal", "9" });

/* Programs that cause a signal: by a fault, by abort(), or by writing to a broken pipe. */
SCENARIO(sigpipe, "diff_ends", ARGS("pipe"), WITH(ALL_TREES));
SCENARIO(abort, "diff_ends", ARGS("abort"), WITH(ALL_TREES));
SCENARIO(assert, "diff_ends", ARGS("assert"), WITH(ALL_TREES));
SCENARIO(abort_handled, "diff_ends", ARGS("abort_handled"), WITH(ALL_TREES));
SCENARIO(abort_left, "diff_ends", ARGS("abort_left", "11"), WITH(ALL_TREES));
SCENARIO(exit_in_handler, "diff_ends", ARGS("exit_in_handler", "12"), WITH(ALL_TREES));
SCENARIO(exit_now_in_handler, "diff_ends", ARGS("exit_now_in_handler", "13"), WITH(ALL_TREES));
SCENARIO(sigsegv, "diff_ends", ARGS("segv"), WITH(ALL_TREES));
SCENARIO(sigfpe, "diff_ends", ARGS("fpe"), WITH(ALL_TREES));
SCENARIO(sigill, "diff_ends", ARGS("ill"), WITH(ALL_TREES));
SCENARIO(sigbus, "diff_ends", ARGS("bus"), WITH(ALL_TREES));
SCENARIO(stack_overflow, "diff_ends", ARGS("stack_overflow"), WITH(ALL_TREES));
/* After a stack overflow, Valgrind cannot unwind from a handler on the alternate stack. */
SCENARIO(stack_overflow_handled, "diff_ends", ARGS("stack_overflow_handled", "14"),
	 WITH(ALL_TREES, "--depth=1"));

/* Programs that end in a thread other than the first. */
SCENARIO(exit_in_thread, "diff_ends", ARGS("exit_in_thread", "15"), WITH(ALL_TREES), MORE_TLS);
SCENARIO(exit_now_in_thread, "diff_ends", ARGS("exit_now_in_thread", "16"), WITH(ALL_TREES),
	 MORE_TLS);
SCENARIO(abort_in_thread, "diff_ends", ARGS("abort_in_thread"), WITH(ALL_TREES), MORE_TLS);
SCENARIO(sigsegv_in_thread, "diff_ends", ARGS("segv_in_thread"), WITH(ALL_TREES), MORE_TLS);
SCENARIO(sigterm_in_thread, "diff_ends", ARGS("signal_in_thread", "15"), WITH(ALL_TREES), MORE_TLS);
SCENARIO(main_thread_first, "diff_ends", ARGS("main_thread_first"), WITH(ALL_TREES), MORE_TLS);
SCENARIO(main_thread_first_exit, "diff_ends", ARGS("main_thread_first", "17"), WITH(ALL_TREES),
	 MORE_TLS);

/* Programs that re-execute themselves. */
SCENARIO(exec_over_itself, "diff_ends", ARGS("exec", "18"),
	 WITH(ALL_TREES, "--trace-children=yes"));
SCENARIO(exec_that_fails, "diff_ends", ARGS("exec_fails", "19"),
	 WITH(ALL_TREES, "--trace-children=yes"));

/*
 * Programs that end in a different directory from the one in which they started; the file's name is relative to the
 * original directory.
 */
SCENARIO(elsewhere, "diff_ends", ARGS("elsewhere", "20"), WITH(ALL_TREES));
SCENARIO(elsewhere_forked, "diff_ends", ARGS("elsewhere_forked", "21"), WITH(ALL_TREES));

/*
 * The program ends while threads are still allocating and freeing: the file is consistent and shows the state at a
 * single moment.
 */
TEST(among_threads)
{
	static const struct {
		const char *number;
		int code;
	} ends[] = {
		{ "0", 0 }, /* ends with exit() */
		{ "1", 1 }, /* ends with _exit() */
		{ "2", 128 + SIGABRT }, /* ends with abort() */
		{ "3", 128 + SIGKILL }, /* ends with kill() */
	};
	struct ctl_result result;

	for (size_t i = 0; i < 4 * sizeof(ends) / sizeof(ends[0]); i++) {
		char *text;

		ctl_remove_files("massif.out.");
		CTL_RUN(&result, "massif-ctl", "-q", "--time-unit=B", "--detailed-freq=1",
			"--threshold=0", "--massif-out-file=massif.out.among", ctl_target("diff_ends"),
			"among_threads", ends[i / 4].number);
		EXPECT_EQ(ends[i / 4].code, ctl_exit_code(&result));
		EXPECT_STREQ("", result.err);
		ctl_result_free(&result);
		text = ctl_read_file("massif.out.among");
		ASSERT_NE(NULL, text);
		EXPECT_TRUE(ctl_is_massif_file(text));
		EXPECT_TRUE(massif_text_trees_agree(text));
		/* The profile shows that threads were allocating when the program ended. */
		EXPECT_NE(NULL, strstr(text, ": churn (diff_ends.c:"));
		free(text);
	}
}

/*
 * Without --massif-out-file, the file is written to the directory in which the program was started, even if the program
 * ends in another one.
 */
TEST(names_by_default)
{
	static const char *const theirs[] = { "/usr/bin/valgrind", "--tool=massif" };
	static const char *const prefixes[] = { "massif.out.", "xtmemory.kcg." };

	if (!diff_can_run())
		SKIP(return, "valgrind is not installed");
	for (int side = 0; side < 2; side++) {
		struct ctl_result result;
		const char *const argv[] = {
			side ? theirs[0] : "massif-ctl", side ? theirs[1] : "--depth=30", "-q",
			"--xtree-memory=allocs", ctl_target("diff_ends"), "elsewhere", "22", NULL,
		};

		for (int i = 0; i < 2; i++)
			ctl_remove_files(prefixes[i]);
		ctl_run(&result, NULL, NULL, argv);
		EXPECT_EQ(22, ctl_exit_code(&result));
		ctl_result_free(&result);
		for (int i = 0; i < 2; i++) {
			EXPECT_EQ(1, ctl_find_files(prefixes[i], NULL));
			ctl_remove_files(prefixes[i]);
		}
	}
}

TEST_HARNESS_MAIN
