/* SPDX-License-Identifier: GPL-2.0 */
/* Executes the monitor commands that a profiled program issues itself (VALGRIND_MONITOR_COMMAND). */
#ifndef MASSIF_CTL_MONITOR_COMMAND_H
#define MASSIF_CTL_MONITOR_COMMAND_H

#include "join_conns.h"
#include "process.h"
#include "ctl/files/outputs.h"

/*
 * Executes the monitor command of @process, which waits for the answer on the connection @guest. If the process has
 * ended, @process may be NULL, and nothing is done. The contents of the file that the command produces are sent to the
 * process, which writes the file, and are also kept in @guest->contents. Returns EINPROGRESS, -ENOSYS if there is no
 * such command, or another -errno.
 */
int mf_monitor_serve(struct mf_heap_process *process, struct mf_join_conn *guest, const struct mf_request *join_request);

/*
 * Handles the process's report that it wrote the file or failed to do so. If it failed, saves the file in $TMPDIR or
 * /tmp, with a message.
 */
void mf_monitor_serve_written(const struct mf_join_conn *guest, const struct mf_request *join_request,
			      struct mf_outputs *outputs);

#endif
