// SPDX-License-Identifier: GPL-2.0
// Continues the profiles of processes that are still running when the launched program ends.

#include "survivor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "background.h"
#include "ctl/message/message.h"
#include "mode.h"
#include "ctl/files/outfile.h"
#include "ctl/files/outname.h"

enum {
	SAID_MAX = 5, /* maximum number of survivors listed in the message */
};

void mf_survivor_say_cut_off(size_t n)
{
	if (n == 1)
		mf_message_say(MF_MESSAGE_PROBLEM, "1 process of the program is still running; its "
						   "profile ends here");
	else if (n)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "%zu processes of the program are still running; their profiles end here", n);
}

/*
 * Collects one line about each survivor (a process that is still running when the launched program ends), so that the
 * lines can be printed as one message.
 */
struct account {
	const struct mf_options *options;
	FILE *out;
	size_t n;
};

/* Prints the program's name: the last component of the path at the start of @title, which is a command line. */
static void print_program(FILE *out, const char *title)
{
	size_t length = strcspn(title, " "), start = length;

	while (start && title[start - 1] != '/')
		start--;
	fprintf(out, "%.*s", (int)(length - start), title + start);
}

/*
 * Predicts the name of the output file of process @pid; NULL on error. The caller frees it. If the pattern contains no
 * %p, only the launched program's file gets the name that the pattern yields; for other processes, the pid is appended.
 */
static char *foresee(const struct mf_options *options, pid_t pid)
{
	mf_auto_free char *name = NULL, *other = NULL;
	struct mf_error err;
	char *own;

	if (mf_outname_expand(options->out_file, pid, 1, &name, &err) ||
	    mf_outname_expand(options->out_file, pid + 1, 1, &other, &err))
		return NULL;
	if (strcmp(name, other) != 0 || mf_outfile_is_special(name))
		return mf_take(name, NULL);
	return asprintf(&own, "%s.%d", name, (int)pid) < 0 ? NULL : own;
}

static void say_one(void *data, pid_t pid, const char *title)
{
	struct account *account = data;
	mf_auto_free char *name = NULL;

	if (account->n++ >= SAID_MAX)
		return;
	name = foresee(account->options, pid);
	print_program(account->out, title);
	fprintf(account->out, " (pid %d) is still running; its profile will be written to %s\n", (int)pid,
		name ? name : "?");
}

static char *describe(struct mf_run *run, const struct mf_mode *mode)
{
	mf_auto_free char *text = NULL;
	size_t size;
	struct account account = { .options = run->options, .out = open_memstream(&text, &size) };

	if (!account.out)
		return NULL;
	mode->survivors(run, say_one, &account);
	if (account.n > SAID_MAX)
		fprintf(account.out, "%zu more processes are still running; 'massif-ctl list' shows them\n",
			account.n - SAID_MAX);
	return fclose(account.out) == 0 ? mf_take(text, NULL) : NULL;
}

/*
 * Supervises the surviving processes until they end. Called in the process of massif-ctl that continues their profiles.
 */
static void stay(struct mf_run *run, const struct mf_mode *mode)
{
	struct mf_error err;

	if (mf_supervise_survivors(&run->supervision, &err))
		mf_message_say(MF_MESSAGE_ERROR, "%s", err.text);
	mode->finish(run);
}

struct resumption {
	struct mf_run *run;
	const struct mf_mode *mode;
};

static int resume(void *data, struct mf_error *err)
{
	const struct resumption *resumption = data;

	return resumption->mode->resume(resumption->run, err);
}

static void say_where(const struct mf_background *background, pid_t pid)
{
	mf_auto_free char *log = NULL;

	if (mf_logfile_is_file())
		mf_message_say(MF_MESSAGE_NOTE,
			       "profiling continues in the background in massif-ctl (pid %d), which also "
			       "writes its messages here; 'kill %d' ends it and writes the profile",
			       (int)pid, (int)pid);
	else if (!mf_background_log(background, pid, &log))
		mf_message_say(MF_MESSAGE_NOTE,
			       "profiling continues in the background in massif-ctl (pid %d), which "
			       "reports problems in %s; 'kill %d' ends it and writes the profile",
			       (int)pid, log, (int)pid);
}

bool mf_survivor_follow(struct mf_run *run, const struct mf_mode *mode)
{
	struct resumption resumption = { run, mode };
	mf_auto_free char *lines = NULL;
	struct mf_error err;
	pid_t pid;

	if (!mode->survivors(run, NULL, NULL)) {
		mode->finish(run);
		return true;
	}
	lines = describe(run, mode);
	if (lines)
		mf_message_say(MF_MESSAGE_NOTE, "%s", lines);
	if (run->options->wait) {
		mf_message_say(MF_MESSAGE_NOTE, "waiting for the end of these processes (--wait=yes)");
		stay(run, mode);
		return true;
	}
	run->background = (struct mf_background){
		.options = run->options,
		.log = run->log,
		.signals = &run->signals,
		.keep_descriptors = run->keep_descriptors,
		.resume = resume,
		.data = &resumption,
	};
	mode->pause(run);
	pid = mf_background_start(&run->background, &err);
	if (pid > 0) {
		say_where(&run->background, pid);
		return false;
	}
	if (!pid) {
		stay(run, mode);
		run->status = 0;
		return true;
	}
	mf_message_say(MF_MESSAGE_PROBLEM, "cannot continue in the background: %s", err.text);
	if (mode->resume(run, &err))
		mf_message_say(MF_MESSAGE_ERROR, "%s", err.text);
	mode->finish(run);
	return true;
}
