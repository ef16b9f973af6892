/* SPDX-License-Identifier: GPL-2.0 */
/* Decides whether a process belongs to a user, and with that whether massif-ctl may rely on what the process supplies. */
#ifndef MASSIF_CTL_OWNER_H
#define MASSIF_CTL_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

#include "pidproc.h"

/*
 * Returns whether the real, effective, saved and file system ids of process @pid are all @uid and @gid; false if there is no
 * such process. The caller makes sure that @pid has not been reused.
 */
bool mf_owner_is(pid_t pid, uid_t uid, gid_t gid);

/*
 * Returns whether @process has the same rights as massif-ctl: all of its ids are massif-ctl's effective ids, and it is in
 * the same user and mount namespaces. Root in a container is not massif-ctl's user, and paths lead elsewhere there. Returns
 * false if the process has ended.
 */
bool mf_owner_is_ours(const struct mf_pidproc *process);

#endif
