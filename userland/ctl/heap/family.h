/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The profiled processes of one heap mode run: the process that massif-ctl launched, and those that join during the
 * run. protocol/join.h describes the protocol.
 */
#ifndef MASSIF_CTL_FAMILY_H
#define MASSIF_CTL_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "process.h"
#include "ctl/options/options.h"
#include "ctl/launch/survivor.h"

struct mf_heap_family;

/*
 * Creates a family that contains @launched, and takes ownership of it. @options, and the arguments with which @launched
 * was created, must outlive the family. Other processes join at @address, or at a new address if @address is NULL.
 * Returns 0 or -errno; on failure the caller still owns @launched.
 */
int mf_heap_family_create(const struct mf_options *options, struct mf_heap_process *launched,
			  const char *address, struct mf_heap_family **family, struct mf_error *err);

/*
 * Treats the launched process like one that joined the run, because this massif-ctl is not its parent. Returns 0 or
 * -errno.
 */
int mf_heap_family_adopt(struct mf_heap_family *family);
void mf_heap_family_destroy(struct mf_heap_family *family); /* @family may be NULL */

/*
 * Returns the address and the secret that processes need to join the run, in the format of the environment variable
 * MASSIF_SESSION; NULL if no process can join.
 */
const char *mf_heap_family_address(const struct mf_heap_family *family);

/* Returns the descriptor to poll for POLLIN; -1 if no process can join. */
int mf_heap_family_fd(const struct mf_heap_family *family);

/*
 * Handles pending events: accepts processes that join, writes the file of one that has ended, and performs checks that
 * are due. Returns the number of milliseconds until the next call is due; -1 if none is due before the descriptor is
 * readable.
 */
int mf_heap_family_look(struct mf_heap_family *family);

/* Returns the process that massif-ctl launched; NULL if another one has replaced it. */
struct mf_heap_process *mf_heap_family_launched(const struct mf_heap_family *family);

/* Returns the running process @pid, or the launched process if @pid is 0; NULL if there is none. */
struct mf_heap_process *mf_heap_family_find(const struct mf_heap_family *family, pid_t pid);

/* Returns whether there is a profile of process @pid, which may have ended. */
bool mf_heap_family_has(const struct mf_heap_family *family, pid_t pid);

void mf_heap_family_list(const struct mf_heap_family *family, FILE *out);

/*
 * Describes the running process @pid to a command that watches it; @launched is the process meant by 0. Returns 0 or
 * -errno; see struct mf_control_ops.
 */
int mf_heap_family_watch(const struct mf_heap_family *family, pid_t pid, pid_t launched,
			 struct mf_control_watched *watched, struct mf_error *err);

/* Called after the launched process has ended: writes its file and the files of other processes that have ended. */
void mf_heap_family_end_launched(struct mf_heap_family *family);

/*
 * Calls @say, unless it is NULL, for each process that is still running. First waits briefly for children that are
 * being forked and for programs that are being executed. Returns the number of running processes.
 */
size_t mf_heap_family_survivors(struct mf_heap_family *family, mf_survivor_say *say, void *data);

/* Returns true if no process of the run is left. */
bool mf_heap_family_is_empty(struct mf_heap_family *family);

/*
 * mf_heap_family_pause() ends massif-ctl's threads that serve the profiled processes (see filter_server.h), so that
 * massif-ctl can fork. mf_heap_family_resume() restarts them in whichever massif-ctl process, parent or child,
 * continues the profiles.
 */
void mf_heap_family_pause(struct mf_heap_family *family);
void mf_heap_family_resume(struct mf_heap_family *family);

/* Writes the files of the processes that are still running, from their current profiles. */
void mf_heap_family_end(struct mf_heap_family *family);

#endif
