// SPDX-License-Identifier: GPL-2.0
// After a run, suggests better options for the next one.

#include "hints.h"

#include <stddef.h>

#include "ctl/message/message.h"
#include "ctl/files/outputs.h"

#define SHORT_RUN_MS	100
#define FAULTS_RATIO	2 /* print a hint if the children's page faults exceed this many times the program's own */
#define UNMATCHED_SHOWN 5u /* maximum number of names to print per option */

/*
 * Lists the names in @given that matched no function. Such a name may be misspelt, or the function may never have
 * allocated anything.
 */
static void say_unmatched(const char *option, const struct mf_strings *given)
{
	size_t n = 0;

	for (size_t i = 0; i < given->count; i++) {
		if (given->matched[i] || n++ >= UNMATCHED_SHOWN)
			continue;
		mf_message_say(MF_MESSAGE_NOTE,
			       "%s=%s: no function of this name allocated anything; names are as in the "
			       "report, C++ functions with their arguments",
			       option, given->items[i]);
	}
	if (n > UNMATCHED_SHOWN)
		mf_message_say(MF_MESSAGE_NOTE, "the same applies to %zu more %s", n - UNMATCHED_SHOWN,
			       option);
}

/* In a short run with a time unit of milliseconds, most events fall into a single column of the graph. */
static void say_short(const struct mf_options *options, int64_t took_ms)
{
	if (options->model.time_unit == MF_TIME_MS && !options->time_unit_given && took_ms < SHORT_RUN_MS)
		mf_message_say(MF_MESSAGE_NOTE,
			       "the run was short; --time-unit=B spreads the snapshots over what it "
			       "allocated");
}

/*
 * Gives a hint if most of the memory was used by programs that this one started, as is usual for a compiler driver or a
 * shell script, and if these have not written profiles of their own.
 */
static void say_others(const struct mf_options *options, const struct mf_faults *faults)
{
	if (!options->trace_children && faults->children > FAULTS_RATIO * faults->own &&
	    mf_outputs_count(options->outputs, MF_OUTPUT_PROFILE) <= 1)
		mf_message_say(MF_MESSAGE_NOTE,
			       "programs that this one started used most of the memory; "
			       "--trace-children=yes profiles them, too");
}

void mf_hints_say(const struct mf_options *options, const struct mf_run_facts *facts)
{
	say_unmatched("--alloc-fn", &options->report.alloc_fns);
	say_unmatched("--ignore-fn", &options->report.ignore_fns);
	say_others(options, &facts->faults);
	say_short(options, facts->took_ms);
}
