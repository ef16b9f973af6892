// SPDX-License-Identifier: GPL-2.0
// What the user of a run that has ended could set up better the next time.

#include "ctl/hints.h"

#include <stddef.h>

#include "ctl/message.h"

#define SHORT_RUN_MS	100
#define UNMATCHED_SHOWN 5u /* names of each option in messages */

/* A misspelt name would otherwise be taken for one that does not allocate. */
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
		mf_message_say(MF_MESSAGE_NOTE, "the same is true of %zu more %s", n - UNMATCHED_SHOWN,
			       option);
}

/* In a short run most of what happens falls into one millisecond, and so into one column of the graph. */
static void say_short(const struct mf_options *options, int64_t took_ms)
{
	if (options->model.time_unit == MF_TIME_MS && !options->time_unit_given && took_ms < SHORT_RUN_MS)
		mf_message_say(MF_MESSAGE_NOTE,
			       "the run was short; --time-unit=B spreads the snapshots over what it "
			       "allocated");
}

void mf_hints_say(const struct mf_options *options, int64_t took_ms)
{
	say_unmatched("--alloc-fn", &options->report.alloc_fns);
	say_unmatched("--ignore-fn", &options->report.ignore_fns);
	say_short(options, took_ms);
}
