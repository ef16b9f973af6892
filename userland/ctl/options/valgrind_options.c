// SPDX-License-Identifier: GPL-2.0
// Valgrind options that massif-ctl does not support, each with the reason.
//
// They are refused rather than ignored, because the user expects them to have an effect.

#include "valgrind_options.h"

#include <stddef.h>
#include <string.h>

/* Reasons why massif-ctl refuses Valgrind options, as printed to the user. Each of them applies to several options. */
#define NATIVE	   "the program runs natively, not on a simulated processor"
#define ERRORS	   "massif does not look for errors in the program"
#define OTHER_TOOL "this is an option of another tool of Valgrind; massif profiles memory only"
#define NO_VGDB	   "massif has no debugger server; run a debugger on the program itself"
#define SYMBOLS	   "massif looks for debug information only next to the program and below /usr/lib/debug"

static const struct {
	const char *name; /* name of the option; a `*` at its end stands for any ending */
	const char *reason;
} table[] = {
	/* Valgrind's core options about processes, the debugger and messages. */
	{ "--vgdb", NO_VGDB },
	{ "--vgdb-*", NO_VGDB },
	{ "--db-attach", NO_VGDB },
	{ "--db-command", NO_VGDB },
	{ "--wait-for-gdb", NO_VGDB },
	{ "--track-fds", "massif does not track descriptors; /proc/PID/fd lists those of a process" },
	{ "--modify-fds", "the program gets the descriptors that the kernel gives it" },
	{ "--time-stamp", "messages have no timestamps; ts(1) can add them" },
	{ "--log-socket", "messages are not sent over the network; use --log-fd with a socket that your "
			  "shell has opened" },
	{ "--help-dyn-options", "options cannot be changed while the program runs" },
	{ "--enable-debuginfod", "debug information is not downloaded while a program is profiled; massif-ctl symbolize "
				 "--debuginfod downloads it for a recording" },

	/* Valgrind's core options for reporting errors. */
	{ "--xml*", ERRORS ", so there are none to write as XML" },
	{ "--error-*", ERRORS },
	{ "--exit-on-first-error", ERRORS },
	{ "--show-error-list", ERRORS },
	{ "-s", ERRORS },
	{ "--suppressions", ERRORS "; massif-ctl check --suppressions=FILE leaves known leaks out, --ignore-fn "
			    "leaves allocations out" },
	{ "--gen-suppressions", ERRORS ", so there is nothing to suppress" },
	{ "--default-suppressions", ERRORS ", so there is nothing to suppress" },
	{ "--input-fd", ERRORS ", so it never asks for input" },
	{ "--dump-error", ERRORS },
	{ "--dsymutil", "this is for Mac OS X" },

	/* Valgrind's core options about how Valgrind executes the program. */
	{ "--max-stackframe", NATIVE ": its stack pointer may change by any amount" },
	{ "--main-stacksize", NATIVE ": ulimit -s sets the size of its stack" },
	{ "--valgrind-stacksize", NATIVE },
	{ "--smc-check", NATIVE ": self-modifying code needs no special treatment" },
	{ "--run-libc-freeres", "massif runs no cleanup code in the program, so memory that the program "
				"does not free stays in the profile" },
	{ "--run-cxx-freeres", "massif runs no cleanup code in the program, so memory that the program "
			       "does not free stays in the profile" },
	{ "--sim-hints", NATIVE },
	{ "--scheduling-quantum", NATIVE ": the kernel schedules the threads" },
	{ "--fair-sched", NATIVE ": the kernel schedules the threads" },
	{ "--kernel-variant", NATIVE ", on the kernel of this machine" },
	{ "--num-transtab-sectors", NATIVE ": nothing is translated" },
	{ "--avg-transtab-entry-size", NATIVE ": nothing is translated" },
	{ "--aspace-minaddr", NATIVE ": the kernel chooses its addresses" },
	{ "--show-emwarns", NATIVE },
	{ "--sigill-diagnostics", NATIVE ": it receives SIGILL like any other signal" },
	{ "--unw-stack-scan-*", "this is for 32-bit ARM; massif unwinds stacks with the unwind tables of "
				"the program" },
	{ "--resync-filter", "this is for Mac OS X" },
	{ "--max-threads", "only the kernel limits the number of threads" },

	/* Valgrind's core options about symbols. */
	{ "--extra-debuginfo-path", SYMBOLS },
	{ "--debuginfo-server", SYMBOLS },
	{ "--allow-mismatched-debuginfo", "debug information of another file would give wrong line numbers" },
	{ "--read-var-info", "trees show calls, not variables" },
	{ "--require-text-symbol", "massif needs no particular function in the program" },

	/* Options for debugging Valgrind itself. */
	{ "-d", "this is for debugging Valgrind; use -v for more messages" },
	{ "--sanity-level", "this is for debugging Valgrind" },
	{ "--trace-flags", NATIVE ": nothing is translated" },
	{ "--profile-flags", NATIVE ": nothing is translated" },
	{ "--profile-interval", NATIVE ": nothing is translated" },
	{ "--trace-notbelow", NATIVE ": nothing is translated" },
	{ "--trace-notabove", NATIVE ": nothing is translated" },
	{ "--trace-syscalls", "massif does not trace system calls; use strace(1)" },
	{ "--trace-signals", "massif does not trace signals; use strace(1)" },
	{ "--trace-symtab", "this is for debugging Valgrind; readelf(1) prints symbols" },
	{ "--trace-symtab-patt", "this is for debugging Valgrind; readelf(1) prints symbols" },
	{ "--trace-cfi", "this is for debugging Valgrind; readelf(1) prints unwind tables" },
	{ "--debug-dump", "use readelf(1) with --debug-dump" },
	{ "--trace-redir", "massif does not redirect functions as Valgrind does; see LD_DEBUG=bindings in "
			   "ld.so(8)" },
	{ "--trace-sched", NATIVE ": the kernel schedules the threads" },
	{ "--profile-heap", "this is for debugging Valgrind" },
	{ "--core-redzone-size", "this is for debugging Valgrind" },
	{ "--progress-interval", "progress is not printed; massif-ctl top shows it" },
	{ "--vex-*", NATIVE ": nothing is translated" },
	{ "--px-*", NATIVE ": nothing is translated" },

	/* Options of other Valgrind tools. */
	{ "--leak-*", OTHER_TOOL },
	{ "--show-leak-kinds", OTHER_TOOL },
	{ "--errors-for-leak-kinds", OTHER_TOOL },
	{ "--show-reachable", OTHER_TOOL },
	{ "--show-possibly-lost", OTHER_TOOL },
	{ "--show-mismatched-frees", OTHER_TOOL },
	{ "--show-realloc-size-zero", OTHER_TOOL },
	{ "--xtree-leak", OTHER_TOOL },
	{ "--xtree-leak-file", OTHER_TOOL },
	{ "--undef-value-errors", OTHER_TOOL },
	{ "--track-origins", OTHER_TOOL },
	{ "--partial-loads-ok", OTHER_TOOL },
	{ "--expensive-definedness-checks", OTHER_TOOL },
	{ "--freelist-vol", OTHER_TOOL },
	{ "--freelist-big-blocks", OTHER_TOOL },
	{ "--workaround-gcc296-bugs", OTHER_TOOL },
	{ "--ignore-ranges", OTHER_TOOL },
	{ "--ignore-range-below-sp", OTHER_TOOL },
	{ "--malloc-fill", OTHER_TOOL },
	{ "--free-fill", OTHER_TOOL },
	{ "--keep-stacktraces", OTHER_TOOL },
	{ "--mode", OTHER_TOOL },
	{ "--cache-sim", OTHER_TOOL },
	{ "--branch-sim", OTHER_TOOL },
	{ "--callgrind-out-file", OTHER_TOOL },
	{ "--cachegrind-out-file", OTHER_TOOL },
	{ "--dhat-out-file", OTHER_TOOL },
	{ "--history-level", OTHER_TOOL },
	{ "--free-is-write", OTHER_TOOL },
	{ "--check-stack-var", OTHER_TOOL },
};

static int matches(const char *name, const char *given, size_t length)
{
	size_t stem = strcspn(name, "*");

	if (name[stem])
		return length >= stem && strncmp(name, given, stem) == 0;
	return stem == length && strncmp(name, given, length) == 0;
}

const char *mf_valgrind_option_reason(const char *arg)
{
	size_t length = strcspn(arg, "=");

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (matches(table[i].name, arg, length))
			return table[i].reason;
	}
	return NULL;
}
