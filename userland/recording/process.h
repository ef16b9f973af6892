/* SPDX-License-Identifier: GPL-2.0 */
/* Makes the profile of a process of the sections that a recording has of it. */
#ifndef MASSIF_RECORDING_PROCESS_H
#define MASSIF_RECORDING_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "recording/reader.h"

/* Returns whether @process has all sections that every process has. */
bool mf_recorded_has_sections(const struct mf_recorded *process);

/*
 * Makes a profile of the sections of a process, which are all there. @number is its number in the file, from 1. Returns 0,
 * or -ENOMEM or -EBADMSG with a message.
 */
int mf_recorded_take(struct mf_recorded *process, size_t number, struct mf_error *err);

/* Fills the profile's description from the facts, and what is missing in these. */
void mf_recorded_describe(struct mf_recorded *process);

/* Frees @process with all that it has. NULL is allowed. */
void mf_recorded_release(struct mf_recorded *process);

#endif
