// SPDX-License-Identifier: GPL-2.0
// massif-ctl run: profiles a program from its start to its end.

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ctl/options/time_units.h"
#include "ctl/output/statistics.h"
#include "command.h"
#include "ctl/check/checker.h"
#include "ctl/options/defaults.h"
#include "ctl/files/recorder.h"
#include "ctl/output/hints.h"
#include "ctl/output/logfile.h"
#include "ctl/message/message.h"
#include "ctl/launch/mode.h"
#include "ctl/options/options.h"
#include "ctl/output/output.h"
#include "ctl/launch/supervise.h"
#include "symbols/truncation.h"

enum {
	STATUS_REFUSED = 1,	    /* exit status if the options are invalid, or massif itself failed */
	STATUS_OVER = 1,	    /* the program has ended with 0, but is over a budget */
	STATUS_LOST = 125,	    /* exit status if an output file could not be written anywhere */
	/* exit statuses for a program that cannot be executed and for one that is not found; same values as env(1) */
	STATUS_NOT_EXECUTABLE = 126,
	STATUS_NOT_FOUND = 127,
};

/* Joins the program and its arguments with spaces, without quoting. */
static char *join(char *const *words)
{
	mf_auto_free char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (char *const *word = words; *word; word++)
		fprintf(out, "%s%s", word == words ? "" : " ", *word);
	return fclose(out) == 0 ? mf_take(text, NULL) : NULL;
}

static int refuse(int status, const struct mf_error *err)
{
	mf_message_say(MF_MESSAGE_ERROR, "%s", err->text);
	return status;
}

/* Returns the exit status for a program that could not be executed because of @code. */
static int exec_status(int code)
{
	return code == -ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}

/* Says why the program @name cannot be executed: @code. The word can be a misspelt command. */
static int refuse_program(const char *name, int code, const struct mf_error *err)
{
	const char *command = code == -ENOENT && !strchr(name, '/') ? mf_command_nearest(name) : NULL;

	if (command)
		mf_message_say(MF_MESSAGE_ERROR, "%s\nDid you mean 'massif-ctl %s'?", err->text, command);
	else
		mf_message_say(MF_MESSAGE_ERROR, "%s", err->text);
	return exec_status(code);
}

/* Terminates massif-ctl with the same exit status or signal as the program. */
static int end_like(int status)
{
	if (WIFSIGNALED(status))
		mf_signals_die(WTERMSIG(status));
	return WEXITSTATUS(status);
}

static void serve(void *control)
{
	mf_control_serve(control);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* What show_progress() needs. */
struct progress {
	struct mf_run *run;
	const struct mf_mode *mode;
	struct mf_output_name name;
};

static void show_progress(void *data)
{
	struct progress *progress = data;
	struct mf_progress_figures figures;

	if (progress->mode->figures(progress->run, &figures))
		mf_progress_show(progress->name.text, &figures);
}

/* Supervises the program from its start to its end. Returns its status in the format of waitpid(2). */
static int accompany(struct mf_run *run, const struct mf_mode *mode)
{
	struct mf_run_facts facts = { .took_ms = now_ms() };
	struct progress progress = { .run = run, .mode = mode };
	struct mf_control *control = NULL;
	struct mf_error err;
	int ret;

	run->status = W_EXITCODE(STATUS_REFUSED, 0);

	/*
	 * This changes the disposition of SIGBUS. Do it only now, after the program has inherited the original
	 * disposition.
	 */
	mf_truncation_endure();
	mf_logfile_name(run->log, run->pid);
	mf_statistics_begin(run->options, run->pid);
	mf_output_reserve(run->options, run->pid);
	mode->started(run);
	mf_output_make_name(&progress.name, run->program->path, strlen(run->program->path));
	if (mf_progress_is_safe(mf_message_target())) {
		run->supervision.tick = show_progress;
		run->supervision.tick_ms = MF_PROGRESS_MS;
		run->supervision.tick_data = &progress;
	}
	if (!run->keep_descriptors)
		mf_launch_drop_inherited();
	/*
	 * Without the control socket, other commands cannot read the running profile. The profile itself is
	 * unaffected.
	 */
	if (mf_control_open(&mode->control, run, &control, &err))
		mf_message_say(MF_MESSAGE_DETAIL, "%s", err.text);
	mf_control_follow(control, run->options->outputs);
	run->supervision.control_fd = mf_control_fd(control);
	run->supervision.serve = serve;
	run->supervision.control = control;
	run->supervision.pid = run->pid;
	ret = mf_supervise(&run->supervision, &run->status, &facts.faults, &err);
	mf_message_status(NULL);
	if (ret)
		refuse(STATUS_REFUSED, &err);
	facts.took_ms = now_ms() - facts.took_ms;
	mode->ended(run);
	mf_hints_say(run->options, &facts);
	mf_survivor_follow(run, mode);
	mf_recorder_say(run->options->recorder);
	mf_control_follow(NULL, run->options->outputs);
	mf_control_close(control);
	return run->status;
}

static int run_program(struct mf_run *run)
{
	const struct mf_mode *mode = mf_options_has_pages(run->options) ? &mf_mode_pages :
									  &mf_mode_heap;
	struct mf_error err;
	bool refused, kept;
	int ret, status;

	ret = mf_signals_take(&run->signals, &err);
	if (ret)
		return refuse(STATUS_REFUSED, &err);
	ret = mode->prepare(run, &err);
	if (ret) {
		mode->cleanup(run);
		return refuse(STATUS_REFUSED, &err);
	}
	if (run->note.text[0])
		mf_message_say(MF_MESSAGE_DETAIL, "%s", run->note.text);
	ret = mf_launch_start(&run->launch, &run->pid, &refused, &err);
	if (ret) {
		mode->cleanup(run);
		return refuse(refused ? exec_status(ret) : STATUS_REFUSED, &err);
	}
	status = accompany(run, mode);
	mode->cleanup(run);
	kept = mf_checker_say(run->options->checker);
	if (mf_outputs_are_lost(run->options->outputs))
		return STATUS_LOST;
	if (!kept && WIFEXITED(status) && !WEXITSTATUS(status))
		return STATUS_OVER;
	return end_like(status);
}

static void release(struct mf_run *run)
{
	mf_background_deinit(&run->background);
}

static int run_with(struct mf_options *options, const struct mf_defaults *defaults, int argc,
		    char **argv)
{
	__attribute__((cleanup(mf_program_deinit))) struct mf_program program = { 0 };
	mf_auto_free char *cmd = NULL;
	__attribute__((cleanup(mf_logfile_close))) struct mf_logfile log = { .fd = -1 };
	__attribute__((cleanup(release))) struct mf_run run = {
		.options = options, .program = &program, .log = &log,
	};
	struct mf_error err;
	int used, ret;

	if (mf_options_parse_defaults(options, defaults, &err) ||
	    mf_options_parse(options, argc, argv, &used, &err))
		return refuse(STATUS_REFUSED, &err);
	if (options->wanted == MF_OPTIONS_HELP)
		return mf_command_help(0, argv + argc);
	if (options->wanted == MF_OPTIONS_VERSION)
		return mf_command_version(0, argv + argc);
	mf_message_set_level(options->verbosity);
	if (mf_options_check_mode(options, &err))
		return refuse(STATUS_REFUSED, &err);
	if (used == argc) {
		mf_error_set(&err, 0, "no program specified\nUse --help for more information.");
		return refuse(STATUS_REFUSED, &err);
	}
	if (mf_logfile_open(&log, options, &err))
		return refuse(STATUS_REFUSED, &err);
	mf_defaults_say_refused(defaults);
	if (mf_output_check(options, &run.keep_descriptors, &err))
		return refuse(STATUS_REFUSED, &err);
	ret = mf_program_resolve(&program, argv[used], getenv("PATH"), &err);
	if (ret)
		return refuse_program(argv[used], ret, &err);
	if (mf_clock_choose_unit(options, &run.note, &err))
		return refuse(STATUS_REFUSED, &err);
	cmd = join(argv + used);
	if (!cmd) {
		mf_error_set(&err, -ENOMEM, "out of memory");
		return refuse(STATUS_REFUSED, &err);
	}
	run.cmd = cmd;
	run.launch = (struct mf_launch){
		.program = &program,
		.argv = argv + used,
		.environment = environ,
		.signals = &run.signals,
		.inherited = { -1, -1 },
	};
	run.supervision = (struct mf_supervision){
		.signals = &run.signals,
		.fd = -1,
		.period_ms = -1,
	};
	return run_program(&run);
}

int mf_command_run(int argc, char **argv)
{
	__attribute__((cleanup(mf_defaults_free))) struct mf_defaults defaults = { 0 };
	__attribute__((cleanup(mf_options_deinit))) struct mf_options options = { 0 };
	struct mf_error err;

	if (!mf_options_has_command_line_only(argc, argv) && mf_defaults_read(&defaults, &err))
		return refuse(STATUS_REFUSED, &err);
	if (mf_options_init(&options, argc + (int)defaults.count, &err))
		return refuse(STATUS_REFUSED, &err);
	return run_with(&options, &defaults, argc, argv);
}
