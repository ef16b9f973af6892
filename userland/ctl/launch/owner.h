/* SPDX-License-Identifier: GPL-2.0 */
/* Compares the ids and namespaces of processes: how far a process, and what it supplies, may be trusted. */
#ifndef MASSIF_CTL_OWNER_H
#define MASSIF_CTL_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

#include "pidproc.h"

/*
 * Returns whether @process has the same rights as massif-ctl: all of its ids are massif-ctl's effective ids, and it is in
 * the same user and mount namespaces. Root in a container is not massif-ctl's user, and paths lead elsewhere there. Returns
 * false if the process has ended.
 */
bool mf_owner_is_ours(const struct mf_pidproc *process);

/*
 * Returns whether process @pid, which had the real ids @uid and @gid when it sent a message, has the same rights as process
 * @other: their real, effective, saved and file system ids are the same, @uid and @gid are among them, and the processes are
 * not known to be in different user namespaces. Returns false if one does not exist. The caller makes sure that @other has
 * not been reused.
 */
bool mf_owner_is_same(pid_t pid, uid_t uid, gid_t gid, pid_t other);

#endif
