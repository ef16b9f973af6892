/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The profiled processes of one heap mode run: the one that massif-ctl launched, and those that join while it
 * runs. protocol/join.h describes the protocol.
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
 * Creates a family that contains @launched and owns it from then on. @options, and the arguments with which
 * @launched was created, must outlive the family. Other processes join at @address, or at a new address if that
 * is NULL. Returns 0 or -errno; on failure the caller keeps @launched.
 */
int mf_heap_family_create(const struct mf_options *options, struct mf_heap_process *launched,
			  const char *address, struct mf_heap_family **family, struct mf_error *err);

/*
 * Treats the launched process like one that joined, because this massif-ctl is not its parent. Returns 0 or
 * -errno.
 */
int mf_heap_family_adopt(struct mf_heap_family *family);
void mf_heap_family_destroy(struct mf_heap_family *family); /* @family may be NULL */

/* The address and the secret, in the form of MASSIF_SESSION; NULL if no process can join. */
const char *mf_heap_family_address(const struct mf_heap_family *family);

/* The descriptor to poll for POLLIN; -1 if no process can join. */
int mf_heap_family_fd(const struct mf_heap_family *family);

/*
 * Handles pending events: accepts processes that join, writes the file of one that has ended, and performs
 * checks that are due. Returns the number of milliseconds until the next call is due; with -1, a call is due
 * only when the descriptor is readable.
 */
int mf_heap_family_look(struct mf_heap_family *family);

/* The process that massif-ctl launched; NULL after it was replaced by another. */
struct mf_heap_process *mf_heap_family_launched(const struct mf_heap_family *family);

/* The running process @pid, or the launched one if @pid is 0; NULL if there is none. */
struct mf_heap_process *mf_heap_family_find(const struct mf_heap_family *family, pid_t pid);

void mf_heap_family_list(const struct mf_heap_family *family, FILE *out);

/* Called when the launched process has ended: writes its file and those of other processes that have ended. */
void mf_heap_family_end_launched(struct mf_heap_family *family);

/*
 * Calls @say, unless it is NULL, for each process that still runs. First waits a moment for children being
 * forked and for programs being executed. Returns the number of running processes.
 */
size_t mf_heap_family_survivors(struct mf_heap_family *family, mf_survivor_say *say, void *data);

/* Returns whether no process of the run is left. */
bool mf_heap_family_is_empty(struct mf_heap_family *family);

/*
 * pause() ends all threads of the family so that this process can fork; resume() starts them again, in the
 * process that continues with the family.
 */
void mf_heap_family_pause(struct mf_heap_family *family);
void mf_heap_family_resume(struct mf_heap_family *family);

/* Writes the files of the processes that still run, as they are now. */
void mf_heap_family_end(struct mf_heap_family *family);

#endif
