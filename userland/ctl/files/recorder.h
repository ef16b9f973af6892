/* SPDX-License-Identifier: GPL-2.0 */
/* The recording of a run: one file to which each process of the run is added when its profile ends. */
#ifndef MASSIF_CTL_RECORDER_H
#define MASSIF_CTL_RECORDER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "ctl/files/outputs.h"
#include "profile/profile.h"
#include "recording/facts.h"
#include "symbols/symbolizer.h"

/* Name of the file if the user gives none. */
#define MF_RECORDER_FILE "massif.rec.%p"

struct mf_recorder;

/* Returns NULL if out of memory. */
struct mf_recorder *mf_recorder_create(void);
void mf_recorder_destroy(struct mf_recorder *recorder); /* @recorder may be NULL */

/* Sets the process that %p in the file's name stands for: the one that the user asked to profile. */
void mf_recorder_set_pid(struct mf_recorder *recorder, pid_t pid);

/*
 * Adds a process to the recording, whose unexpanded name is @pattern. The first process creates the file, with mode
 * @mode, or replaces that of an earlier run; the others are appended. Fills in the facts about this machine. Returns 0,
 * or -errno if the process could not be added.
 */
int mf_recorder_add(struct mf_recorder *recorder, struct mf_outputs *outputs, const char *pattern,
		    struct mf_facts *facts, const struct mf_profile *profile, const struct mf_profile_snapshot *end,
		    struct mf_symbolizer *symbolizer, mode_t mode, struct mf_error *err);

/*
 * Makes the name of the recording, if there is one, independent of the working directory, which is @directory. Returns false
 * if out of memory.
 */
bool mf_recorder_make_absolute(struct mf_recorder *recorder, const char *directory);

/* Prints a line that names the recording, if there is one. */
void mf_recorder_say(const struct mf_recorder *recorder);

#endif
