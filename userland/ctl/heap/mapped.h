/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The files of the objects in a process's store, held open (base/held.h). The shim enters objects; which
 * files these are, the kernel tells in /proc/PID/maps.
 */
#ifndef MASSIF_CTL_MAPPED_H
#define MASSIF_CTL_MAPPED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/store.h"
#include "base/held.h"

struct mf_mapped {
	struct mf_held *held;
	struct mf_held_file *program; /* what the process executes; NULL: unknown */
	uint32_t n; /* objects that were looked at: the first ones */
};

/* @held must outlive it. NULL: nothing is held. */
void mf_mapped_init(struct mf_mapped *mapped, struct mf_held *held);

/* Lets go of all that is held for @store, whose memory is still there. */
void mf_mapped_deinit(struct mf_mapped *mapped, struct mf_store *store);

/* The process executes the file at @path, which may be in /proc, or will. */
void mf_mapped_program(struct mf_mapped *mapped, const char *path);

/* The same of what process @pid executes now. */
void mf_mapped_executed(struct mf_mapped *mapped, pid_t pid);

/*
 * Opens the files of objects that are new in @store, which process @pid has mapped; 0: it has ended, and they
 * are gone. Returns whether there were any.
 */
bool mf_mapped_look(struct mf_mapped *mapped, struct mf_store *store, pid_t pid);

/* What is held for @from_store, of which @store is a copy, is held for that, too. */
void mf_mapped_copy(struct mf_mapped *mapped, struct mf_store *store, const struct mf_mapped *from,
		    const struct mf_store *from_store);

#endif
