/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A process profiled in heap mode: the memory that it shares with massif-ctl, and the file that is written when it
 * ends.
 */
#ifndef MASSIF_CTL_PROCESS_H
#define MASSIF_CTL_PROCESS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "filter_server.h"
#include "ctl/control/server.h"
#include "mapped.h"
#include "sample_watch.h"
#include "space_watch.h"
#include "ctl/launch/progress.h"
#include "ctl/options/options.h"
#include "ctl/output/output.h"
#include "model/store.h"
#include "residency/sampler.h"

struct mf_heap_process {
	struct mf_heap_process *next; /* next process in the list of profiled processes */
	const struct mf_options *options;
	struct mf_store store;
	int memory;	/* descriptor of the store's memory */
	/*
	 * maximum size of the store in the process's address space, in bytes; the same for all copies of the store; 0
	 * for no limit
	 */
	uint64_t budget;
	const struct mf_heap_process *source; /* the process whose store this one shares, or NULL if it has its own */
	/*
	 * the value that header->went_on, the number of forks unknown to massif-ctl, had when this process began to
	 * share a store; unused if the store is not shared
	 */
	uint32_t went_on;
	pid_t pid;	/* process id; 0 if not known yet */
	char *cmd;	/* command line, as shown in the massif.out file; owned */
	char title[64];	/* beginning of @cmd, for messages */
	struct mf_output_name name; /* name of the program */
	pid_t parent;	/* its parent when it joined the run; 0: massif-ctl, or not known */
	int status;	/* how it ended, in the format of waitpid(2); MF_EXIT_STATUS_UNKNOWN: not known, or not ended yet */
	bool launched;	/* started by massif-ctl itself */
	bool forked;	/* forked by a profiled process, and still running the same program as its parent */
	/*
	 * the process has sent MF_JOIN_EXECUTES, which announces that it is about to execute another program; not set
	 * if the process announced this in the page that it shares with massif-ctl (struct mf_join_page), see
	 * mf_heap_process_executes()
	 */
	bool executes;
	bool departs;	/* already running another program, which has not joined the run yet */
	bool cut_off;	/* the program was killed by SIGKILL, or is still running when the profile ends */
	struct mf_mapped mapped; /* open files of the store's objects */
	/*
	 * the server that answers the program's queries about contexts; NULL if neither --ignore-fn nor --alloc-fn is
	 * given
	 */
	struct mf_filter_server *filter_server;
	/* number of files with %n in their names that the program's monitor commands have written */
	unsigned int n_xtrees;

	struct mf_sampler sampler; /* samples of its resident set (--rss) */
	struct mf_sample_watch sample_watch;
	/*
	 * when the program that massif.ko recorded beside the last sample began (mf_pages_process.start_ns); 0: no sample had
	 * such a record. The process may have executed another program since.
	 */
	uint64_t touched_since_ns;
	/* the number of detailed snapshots and of snapshots of a peak at the last sample that looked for them */
	uint32_t n_detailed_seen, n_peaks_seen;
	bool cannot_sample; /* a sample has failed; the reason has been reported */

	/* The following fields are used for processes that joined: */
	int pidfd;	/* pidfd of the process, or -1 */
	int connection; /* connection of a forked child until its first message (MF_JOIN_BORN); otherwise -1 */
	int go_on_fd;	/* connection over which the process waits for an answer to MF_JOIN_GO_ON, or -1 */
	/* deadline for answering the process's MF_JOIN_GO_ON, on the clock of mf_timekeeper_now() */
	int64_t go_on_until;
	struct mf_space space;
	bool ended;
	uint64_t end_ns; /* CLOCK_MONOTONIC time at which the end was detected; 0 if still running */
	/* interval at which to check whether the process has executed another program; -1 for no checks */
	int watch_ms;
	/* when to check next whether the process has called exec, on the clock of mf_timekeeper_now() */
	int64_t watch_at;
};

/*
 * Creates a process with an empty profile. @pid is 0 for a process that has not been started yet; the store is then
 * sized for massif-ctl's own address-space limit. @path is the path of its program; @path and @cmd are copied. Returns
 * 0 or -errno.
 */
int mf_heap_process_create(const struct mf_options *options, const char *path, const char *cmd,
			   pid_t pid, struct mf_heap_process **process, struct mf_error *err);

/*
 * The same for a store in the empty memfd @memory, or in a new one if @memory is -1. On success, takes ownership of
 * @memory.
 */
int mf_heap_process_create_in(const struct mf_options *options, const char *path, const char *cmd, pid_t pid,
			      int memory, struct mf_heap_process **process, struct mf_error *err);

/*
 * Creates a process for the running process @pid, whose session is in the file @memory. @pidfd is its pidfd, which the
 * caller keeps. If @memory is -1, the caller fills the store. On success, returns 0 and takes ownership of @memory. On
 * failure, returns -errno and the caller still owns @memory.
 */
int mf_heap_process_adopt(const struct mf_options *options, const char *path, const char *cmd, pid_t pid,
			  int pidfd, int memory, struct mf_heap_process **process, struct mf_error *err);

/* Makes this massif-ctl the aggregator of @process. Returns 0 or -errno. */
int mf_heap_process_go_on(struct mf_heap_process *process, struct mf_error *err);
void mf_heap_process_destroy(struct mf_heap_process *process); /* @process may be NULL */

/*
 * Creates the structure for a child that @from is about to fork. The child shares the profile of @from until that
 * profile changes. Returns 0 or -ENOMEM.
 */
int mf_heap_process_expect(const struct mf_heap_process *from, struct mf_heap_process **process,
			   struct mf_error *err);

/*
 * Gives @process its own copy of the profile that it shares with @process->source. @lives is true if @process is still
 * running; if it has ended, the parts needed only by a running process are not copied. Returns 0 or -errno.
 */
int mf_heap_process_copy(struct mf_heap_process *process, bool lives, struct mf_error *err);

/* Transfers the profile of @source to @process; @source no longer needs it. Returns 0 or -errno. */
int mf_heap_process_inherit(struct mf_heap_process *process, struct mf_heap_process *source,
			    struct mf_error *err);

/*
 * Called when the pid is known and the process is about to run: starts its filter server. Prints a message on
 * failure.
 */
void mf_heap_process_start(struct mf_heap_process *process);

/*
 * Writes the files of @process and reports problems with its profile. The process may still be running; events that
 * occur during the call may or may not be in the file.
 */
void mf_heap_process_write(struct mf_heap_process *process);

/* Returns whether @process has announced that it is about to execute another program, or has just done so. */
bool mf_heap_process_executes(const struct mf_heap_process *process);

/* Sets the end of the profile to the current time. Called when the process has ended or has executed another program. */
void mf_heap_process_note_end(struct mf_heap_process *process);

/* Opens files that the process has mapped since the last call. Returns whether there were new ones. */
bool mf_heap_process_look(struct mf_heap_process *process);

/*
 * Takes a sample of the resident set (--rss) if one is due. Returns the number of milliseconds until the next one is due; -1
 * if there is none.
 */
int mf_heap_process_sample(struct mf_heap_process *process);

/* Takes a sample of the resident set now because a snapshot was requested, if the process is sampled at all. */
void mf_heap_process_request_sample(struct mf_heap_process *process);

/*
 * Returns the number of milliseconds from the first event, whose time the shim recorded, to the end of the process or,
 * if it is still running, to now; and the same in the unit of time of the profile, if that is not bytes.
 */
int64_t mf_heap_process_age_ms(const struct mf_heap_process *process);
int64_t mf_heap_process_time(const struct mf_heap_process *process);

/* Reports a problem with the profile. The message includes the pid unless the process is the launched one. */
void mf_heap_process_complain(const struct mf_heap_process *process, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Returns the figures of a process that is running. */
struct mf_progress_figures mf_heap_process_figures(const struct mf_heap_process *process);

/* The following two functions implement the callbacks in struct mf_control_ops. */
void mf_heap_process_list(const struct mf_heap_process *process, FILE *out);
int mf_heap_process_snapshot(const struct mf_heap_process *process, enum mf_control_verb verb,
			     FILE *out, struct mf_error *err);

#endif
