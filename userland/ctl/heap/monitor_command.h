/* SPDX-License-Identifier: GPL-2.0 */
/* Monitor commands that a profiled program gives itself, as VALGRIND_MONITOR_COMMAND has them. */
#ifndef MASSIF_CTL_MONITOR_H
#define MASSIF_CTL_MONITOR_H

#include "join_conns.h"
#include "process.h"
#include "ctl/files/outputs.h"

/*
 * Executes the command of @process (NULL: it is gone), which is @guest and waits. What is to be written of it
 * goes to the guest, and stays in @guest->contents. Returns EINPROGRESS, -ENOSYS if there is no such command,
 * or another -errno.
 */
int mf_monitor_serve(struct mf_heap_process *process, struct mf_join_conn *guest, const struct mf_request *wish);

/* The guest has written it, or could not: then it is written to $TMPDIR or /tmp, and that is said. */
void mf_monitor_serve_written(const struct mf_join_conn *guest, const struct mf_request *wish,
			      struct mf_outputs *outputs);

#endif
