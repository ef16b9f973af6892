/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Keeps open the files of the objects in a process's store (base/held.h). The shim adds the objects to the store;
 * /proc/PID/maps shows which files they are.
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
	struct mf_held_file *program; /* the file that the process executes, or NULL if unknown */
	/*
	 * descriptor of the root directory that the process had when it joined, so that its files can be found after it
	 * has ended; -1 if massif-ctl has the same root directory
	 */
	int root;
	uint32_t n; /* number of objects already looked up, counting from the start of the store's table */
};

/* @held, the list of files to keep open, must outlive @mapped; if @held is NULL, no file is kept open. */
void mf_mapped_init(struct mf_mapped *mapped, struct mf_held *held);

/* Releases all files held for @store, whose memory must still be mapped. */
void mf_mapped_deinit(struct mf_mapped *mapped, struct mf_store *store);

/* Records the file at @path, which may be in /proc, as the one that the process executes or will execute. */
void mf_mapped_program(struct mf_mapped *mapped, const char *path);

/* Records the file that process @pid is executing, and its root directory. */
void mf_mapped_executed(struct mf_mapped *mapped, pid_t pid);

/*
 * Opens the files of objects added to @store since the last call. @pid is the process that has mapped them, or 0 if it
 * has ended. @pidfd is its pidfd: files are not kept if the pid has been reused; -1 if it cannot be reused. Returns whether
 * there were new objects.
 */
bool mf_mapped_look(struct mf_mapped *mapped, struct mf_store *store, pid_t pid, int pidfd);

/* Shares the open files of @from_store with @store, which is a copy of it. */
void mf_mapped_copy(struct mf_mapped *mapped, struct mf_store *store, const struct mf_mapped *from,
		    const struct mf_store *from_store);

#endif
