/* SPDX-License-Identifier: GPL-2.0 */
/* A mode (heap or pages) is a table of callbacks for the stages of the program's life. */
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
#include "progress.h"
#include "ctl/output/logfile.h"
#include "ctl/options/options.h"
#include "program.h"
#include "signals.h"
#include "supervise.h"
#include "survivor.h"

/* One run of massif-ctl. Each mode fills in @launch and @supervision. */
struct mf_run {
	struct mf_options *options;
	const struct mf_program *program;
	const char *cmd;	/* the command line, as shown in the massif.out file */
	struct mf_logfile *log;
	struct mf_error note;	/* message to print as soon as the program can be started; may be empty */
	bool keep_descriptors;	/* the output file is an inherited descriptor, so inherited descriptors stay open */
	struct mf_launch launch;
	struct mf_supervision supervision;
	struct mf_signals signals;
	struct mf_background background; /* used to continue in the background if processes outlive the program */
	pid_t pid;   /* pid of the program; valid once it has started */
	int status;  /* exit status in the format of waitpid(2), once the program has ended */
	void *state; /* private data of the mode */
};

/*
 * Returns whether the program was killed by SIGKILL, for example by the OOM killer. If so, the profile ends with a
 * detailed snapshot, because the user wants to see the program's last state.
 */
static inline bool mf_run_was_cut_off(const struct mf_run *run)
{
	return WIFSIGNALED(run->status) && WTERMSIG(run->status) == SIGKILL;
}

struct mf_mode {
	/* Called before the program is started. Returns 0 or -errno. */
	int (*prepare)(struct mf_run *run, struct mf_error *err);
	/* Called when the program is running. */
	void (*started)(struct mf_run *run);
	/* Called when the program has ended: writes the program's profile to its file, and reports problems. */
	void (*ended)(struct mf_run *run);
	/*
	 * Calls @say, which may be NULL, for each profiled process that is still running. Returns the number of such
	 * processes.
	 */
	size_t (*survivors)(struct mf_run *run, mf_survivor_say *say, void *data);
	/* Returns the figures of the program that was started, for the line of progress. Returns whether it has any. */
	bool (*figures)(struct mf_run *run, struct mf_progress_figures *figures);
	/*
	 * @pause ends all threads before this process forks. @resume is called in whichever process, parent or child,
	 * continues the run; it restarts the threads and restores mappings that fork() does not copy. It returns 0 or
	 * -errno.
	 */
	void (*pause)(struct mf_run *run);
	int (*resume)(struct mf_run *run, struct mf_error *err);
	/* Writes the files of the processes that are still running, from their current profiles. */
	void (*finish)(struct mf_run *run);
	/* Releases what @prepare allocated; also called after @prepare failed. */
	void (*cleanup)(struct mf_run *run);
	/* callbacks of the control socket; called only between @started and @cleanup, with the run as their @data */
	struct mf_control_ops control;
};

extern const struct mf_mode mf_mode_heap;
extern const struct mf_mode mf_mode_pages;

#endif
