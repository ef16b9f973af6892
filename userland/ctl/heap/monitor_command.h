/* SPDX-License-Identifier: GPL-2.0 */
/* Executes the monitor commands that a profiled program issues itself (VALGRIND_MONITOR_COMMAND). */
#ifndef MASSIF_CTL_MONITOR_COMMAND_H
#define MASSIF_CTL_MONITOR_COMMAND_H

#include "join_conns.h"
#include "process.h"
#include "ctl/files/outputs.h"
#include "ctl/message/quota.h"

/* The messages about monitor commands that were printed in this run. Initialise it to zero. */
struct mf_monitor_said {
	struct mf_message_quota errors, reports;
};

/*
 * Executes a monitor command for @process, which is waiting for the answer on the connection @guest. If the command
 * produces a file, sends the file's contents, sealed, to the process, which writes the file itself, and keeps the
 * descriptor in guest->contents. Returns EINPROGRESS, -ENOSYS if there is no such command, -ESRCH if @process is NULL
 * because the process has ended, or another -errno. The number of messages about errors, and of files that are saved
 * elsewhere, is limited.
 */
int mf_monitor_serve(struct mf_heap_process *process, struct mf_join_conn *guest, const struct mf_request *join_request,
		     struct mf_monitor_said *said);

/*
 * Handles the process's report that it wrote the file or failed to do so. If it failed, saves the file in $TMPDIR or
 * /tmp, with a message. Ignores the report if no file was sent on the connection @guest, which the caller closes.
 */
void mf_monitor_serve_written(const struct mf_join_conn *guest, const struct mf_request *join_request,
			      struct mf_monitor_said *said, struct mf_outputs *outputs);

#endif
