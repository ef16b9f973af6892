// SPDX-License-Identifier: GPL-2.0
// Options of Valgrind that massif-ctl does not have, each with the reason.
//
// They are refused rather than ignored, because the user expects an effect.

#include "valgrind_options.h"

#include <stddef.h>
#include <string.h>

/* Reasons that apply to several options. */
#define NATIVE	   "the program runs on the processor itself, not in a simulation of one"
#define ERRORS	   "massif looks for no errors in the program"
#define OTHER_TOOL "this is an option of another tool of Valgrind; massif profiles memory only"
#define NO_VGDB	   "there is no debugger's server here; run a debugger on the program itself"
#define SYMBOLS	   "debug information is looked for beside the program and below /usr/lib/debug only"

static const struct {
	const char *name; /* a final `*` matches any rest */
	const char *reason;
} table[] = {
	/* Core options: processes, debugger, messages. */
	{ "--vgdb", NO_VGDB },
	{ "--vgdb-*", NO_VGDB },
	{ "--db-attach", NO_VGDB },
	{ "--db-command", NO_VGDB },
	{ "--wait-for-gdb", NO_VGDB },
	{ "--track-fds", "descriptors are not looked at; /proc/PID/fd has those of a process" },
	{ "--modify-fds", "the program gets the descriptors that the kernel gives it" },
	{ "--time-stamp", "messages carry no time; ts(1) can add it" },
	{ "--log-socket", "messages do not go to the network; use --log-fd with what your shell or "
			  "nc(1) has opened" },
	{ "--help-dyn-options", "no option can be changed while the program runs" },
	{ "--enable-debuginfod", "debug information is not downloaded; use debuginfod-find(1) or "
				 "install it" },

	/* Core options: errors. */
	{ "--xml*", ERRORS ", so there are none to write as XML" },
	{ "--error-*", ERRORS },
	{ "--exit-on-first-error", ERRORS },
	{ "--show-error-list", ERRORS },
	{ "-s", ERRORS },
	{ "--suppressions", ERRORS ", so there is nothing to suppress; --ignore-fn leaves "
			    "allocations out" },
	{ "--gen-suppressions", ERRORS ", so there is nothing to suppress" },
	{ "--default-suppressions", ERRORS ", so there is nothing to suppress" },
	{ "--input-fd", ERRORS ", so it asks nothing" },
	{ "--dump-error", ERRORS },
	{ "--dsymutil", "this is for Mac OS X" },

	/* Core options: how the program runs. */
	{ "--max-stackframe", NATIVE ": its stack may jump as it likes" },
	{ "--main-stacksize", NATIVE ": the stack has the size that ulimit -s says" },
	{ "--valgrind-stacksize", NATIVE },
	{ "--smc-check", NATIVE ", which notices itself when code is changed" },
	{ "--run-libc-freeres", "nothing is run in the program that it would not run itself, so what "
				"is not freed stays in the profile" },
	{ "--run-cxx-freeres", "nothing is run in the program that it would not run itself, so what "
			       "is not freed stays in the profile" },
	{ "--sim-hints", NATIVE },
	{ "--scheduling-quantum", NATIVE ": the kernel schedules the threads" },
	{ "--fair-sched", NATIVE ": the kernel schedules the threads" },
	{ "--kernel-variant", NATIVE ", and the kernel is this one" },
	{ "--num-transtab-sectors", NATIVE ": nothing is translated" },
	{ "--avg-transtab-entry-size", NATIVE ": nothing is translated" },
	{ "--aspace-minaddr", NATIVE ": its addresses are the kernel's choice" },
	{ "--show-emwarns", NATIVE },
	{ "--sigill-diagnostics", NATIVE ": it gets its SIGILL as any other signal" },
	{ "--unw-stack-scan-*", "this is for 32-bit ARM; stacks are unwound by the rules in the "
				"program's files" },
	{ "--resync-filter", "this is for Mac OS X" },
	{ "--max-threads", "there may be as many threads as the kernel allows" },

	/* Core options: symbols. */
	{ "--extra-debuginfo-path", SYMBOLS },
	{ "--debuginfo-server", SYMBOLS },
	{ "--allow-mismatched-debuginfo", "debug information that belongs to another file would "
					  "print wrong lines" },
	{ "--read-var-info", "trees show calls, not variables" },
	{ "--require-text-symbol", "a profile does not depend on a function that may be missing" },

	/* Options for debugging Valgrind itself. */
	{ "-d", "this is for debugging Valgrind; -v says more here" },
	{ "--sanity-level", "this is for debugging Valgrind" },
	{ "--trace-flags", NATIVE ": nothing is translated" },
	{ "--profile-flags", NATIVE ": nothing is translated" },
	{ "--profile-interval", NATIVE ": nothing is translated" },
	{ "--trace-notbelow", NATIVE ": nothing is translated" },
	{ "--trace-notabove", NATIVE ": nothing is translated" },
	{ "--trace-syscalls", "system calls are not looked at; use strace(1)" },
	{ "--trace-signals", "signals are not looked at; use strace(1)" },
	{ "--trace-symtab", "this is for debugging Valgrind; readelf(1) prints symbols" },
	{ "--trace-symtab-patt", "this is for debugging Valgrind; readelf(1) prints symbols" },
	{ "--trace-cfi", "this is for debugging Valgrind; readelf(1) prints unwind tables" },
	{ "--debug-dump", "use readelf(1) with --debug-dump" },
	{ "--trace-redir", "functions are not replaced by their names; ld.so(8) has LD_DEBUG=bindings" },
	{ "--trace-sched", NATIVE ": the kernel schedules the threads" },
	{ "--profile-heap", "this is for debugging Valgrind" },
	{ "--core-redzone-size", "this is for debugging Valgrind" },
	{ "--progress-interval", "there is no report of progress; use top(1)" },
	{ "--vex-*", NATIVE ": nothing is translated" },
	{ "--px-*", NATIVE ": nothing is translated" },

	/* Options of other tools. */
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
