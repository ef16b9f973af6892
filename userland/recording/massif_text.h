/* SPDX-License-Identifier: GPL-2.0 */
/* Reads massif.out files, of massif-ctl or of Valgrind's Massif, as if they were recordings. */
#ifndef MASSIF_RECORDING_MASSIF_TEXT_H
#define MASSIF_RECORDING_MASSIF_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "recording/reader.h"

/* Returns whether the @size bytes at @text begin like a massif.out file. */
bool mf_massif_text_is(const char *text, size_t size);

/*
 * Reads the file @fd, from its position on, into @process, which is zeroed. The profile has what the
 * file has: its trees are without the entries below the threshold, it has no counts, and process->end is the last
 * snapshot with a tree. process->symbolizer is created. Returns 0; -EBADMSG, with the number of the line, if the file
 * is not valid; -ENOMEM; -errno if it cannot be read.
 */
int mf_massif_text_read(struct mf_recorded *process, int fd, struct mf_error *err);

#endif
