/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The processes of a run of heap mode: the one that massif-ctl launched, and those that join while it
 * runs. The protocol is protocol/join.h's.
 */
#ifndef MASSIF_CTL_HEAP_FAMILY_H
#define MASSIF_CTL_HEAP_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "process.h"
#include "ctl/options/options.h"
#include "ctl/launch/survivor.h"

struct mf_heap_family;

/*
 * Both options and whatever @launched was made of must outlive it. It takes @launched over. Others join at
 * @address, or NULL: at a new one.
 */
int mf_heap_family_create(const struct mf_options *options, struct mf_heap_process *launched,
			  const char *address, struct mf_heap_family **family, struct mf_error *err);

/* Makes of the launched process one that this process did not launch. Returns 0 or -errno. */
int mf_heap_family_adopt(struct mf_heap_family *family);
void mf_heap_family_destroy(struct mf_heap_family *family); /* NULL is allowed */

/* The name and the secret, as they are in the environment; NULL: nobody can join. */
const char *mf_heap_family_address(const struct mf_heap_family *family);

/* The descriptor to poll for POLLIN; -1 if nobody can join. */
int mf_heap_family_fd(const struct mf_heap_family *family);

/*
 * Lets in who wants to join, writes the files of those that have ended, and looks at clocks. Returns
 * after how many milliseconds at most to call it again, or -1: when the descriptor says so.
 */
int mf_heap_family_look(struct mf_heap_family *family);

/* The profile of the process that massif-ctl launched; NULL once another one is in its place. */
struct mf_heap_process *mf_heap_family_launched(const struct mf_heap_family *family);

/* The one of process @pid, or for 0 of the launched one; NULL: there is none. */
struct mf_heap_process *mf_heap_family_find(const struct mf_heap_family *family, pid_t pid);

void mf_heap_family_list(const struct mf_heap_family *family, FILE *out);

/* The launched process has ended: writes its file, and those of others that have ended. */
void mf_heap_family_end_launched(struct mf_heap_family *family);

/*
 * Calls @say, if it is not NULL, for each process that still runs. Waits a moment for children that are
 * being forked and for programs that are being executed. Returns how many there are.
 */
size_t mf_heap_family_survivors(struct mf_heap_family *family, mf_survivor_say *say, void *data);

/* Whether no process of the run is left. */
bool mf_heap_family_is_empty(struct mf_heap_family *family);

/*
 * Ends all threads of the family, so that this process can fork; and starts them again, in the process
 * that goes on with the family.
 */
void mf_heap_family_pause(struct mf_heap_family *family);
void mf_heap_family_resume(struct mf_heap_family *family);

/* Writes the files of the processes that still run, as they are now. */
void mf_heap_family_end(struct mf_heap_family *family);

#endif
