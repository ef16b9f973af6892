/* SPDX-License-Identifier: GPL-2.0 */
/* Monitor commands that a profiled program gives itself, as VALGRIND_MONITOR_COMMAND has them. */
#ifndef MASSIF_CTL_MONITOR_H
#define MASSIF_CTL_MONITOR_H

#include <stdbool.h>

#include "base/error.h"
#include "ctl/heap_process.h"
#include "ctl/outputs.h"

/* What a command leads to: nothing, or a file, which the process is to write. */
struct mf_monitor_file {
	char *name;   /* NULL: nothing; as it is given, or by default; owned */
	int contents; /* -1: nothing */
	bool is_told; /* the user is told of it when it is written */
};

/*
 * Executes the command @text of @process, which waits. Returns 0, -ENOSYS if there is no such
 * command, or another -errno with words. *@file is to be freed.
 */
int mf_monitor_execute(struct mf_heap_process *process, const char *text,
		       struct mf_monitor_file *file, struct mf_error *err);
void mf_monitor_free(struct mf_monitor_file *file);

/*
 * The process has written @file to @path, or with @code, a -errno, has not: then it is written to $TMPDIR
 * or /tmp, and that is said.
 */
void mf_monitor_written(const struct mf_monitor_file *file, const char *path, int code,
			struct mf_outputs *outputs);

#endif
