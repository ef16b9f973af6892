/* SPDX-License-Identifier: GPL-2.0 */
/* What is profiled in a run: a mode is a table of verbs around the program's life. */
#ifndef MASSIF_CTL_MODE_H
#define MASSIF_CTL_MODE_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "base/error.h"
#include "background.h"
#include "ctl/control/server.h"
#include "launch.h"
#include "ctl/output/logfile.h"
#include "ctl/options/options.h"
#include "program.h"
#include "signals.h"
#include "supervise.h"
#include "survivor.h"

/* One run; the modes fill @launch and @supervision. */
struct mf_run {
	struct mf_options *options;
	const struct mf_program *program;
	const char *cmd;	/* as the file shows it */
	struct mf_logfile *log;
	struct mf_error note;	/* for the user, if the program can be started; may be empty */
	bool keep_descriptors;	/* the output file is among what massif-ctl was given */
	struct mf_launch launch;
	struct mf_supervision supervision;
	struct mf_signals signals;
	struct mf_background background; /* of the processes that the program leaves behind */
	pid_t pid;   /* once it is started */
	int status;  /* as of waitpid(2), once it has ended */
	void *state; /* the mode's own */
};

/*
 * Did somebody end the program, the OOM killer for one, so that it could do nothing about it? Then what it
 * held last is what the user wants to know. (One that did it itself looks the same.)
 */
static inline bool mf_run_was_cut_off(const struct mf_run *run)
{
	return WIFSIGNALED(run->status) && WTERMSIG(run->status) == SIGKILL;
}

struct mf_mode {
	/* Before the program is started. Returns 0 or -errno. */
	int (*prepare)(struct mf_run *run, struct mf_error *err);
	/* The program is running. */
	void (*started)(struct mf_run *run);
	/* The program has ended: writes its file, and says what went wrong itself. */
	void (*ended)(struct mf_run *run);
	/* Calls @say, if it is not NULL, for each profiled process that still runs. Returns how many. */
	size_t (*survivors)(struct mf_run *run, mf_survivor_say *say, void *data);
	/*
	 * Around a fork of this process: @pause ends its threads; @resume starts them again and maps what a
	 * fork does not copy, in the process that goes on. Returns 0 or -errno.
	 */
	void (*pause)(struct mf_run *run);
	int (*resume)(struct mf_run *run, struct mf_error *err);
	/* Writes the files of the processes that still run, as they are now. */
	void (*finish)(struct mf_run *run);
	/* Releases what @prepare made, also after it failed. */
	void (*cleanup)(struct mf_run *run);
	struct mf_control_ops control; /* on the run, as data, between @started and @cleanup */
};

extern const struct mf_mode mf_mode_heap;
extern const struct mf_mode mf_mode_pages;

#endif
