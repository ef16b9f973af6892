/* SPDX-License-Identifier: GPL-2.0 */
/* Executes the monitor commands that a profiled program gives itself (VALGRIND_MONITOR_COMMAND). */
#ifndef MASSIF_CTL_MONITOR_COMMAND_H
#define MASSIF_CTL_MONITOR_COMMAND_H

#include "join_conns.h"
#include "process.h"
#include "ctl/files/outputs.h"

/*
 * Executes the command of @process on its connection @guest, where it waits for the answer; NULL if the process
 * has ended. The contents of the file to write are sent to the process, and also kept in @guest->contents.
 * Returns EINPROGRESS, -ENOSYS if there is no such command, or another -errno.
 */
int mf_monitor_serve(struct mf_heap_process *process, struct mf_join_conn *guest, const struct mf_request *join_request);

/*
 * Handles the process's report that it wrote the file, or failed to. In that case the file is saved in $TMPDIR
 * or /tmp, with a message.
 */
void mf_monitor_serve_written(const struct mf_join_conn *guest, const struct mf_request *join_request,
			      struct mf_outputs *outputs);

#endif
