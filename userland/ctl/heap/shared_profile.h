/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A profile that a process shares with its forked children. Nothing is copied at the fork, because most children soon
 * execute another program or exit. A child gets its own profile when one of the processes is about to change the
 * profile, or when the parent ends.
 *
 * In all these functions, @list is the list of the profiled processes.
 */
#ifndef MASSIF_CTL_SHARED_PROFILE_H
#define MASSIF_CTL_SHARED_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "process.h"

/* Informs the user that a child of @parent is not profiled, for the reason @err. */
void mf_shared_profile_complain(const struct mf_heap_process *parent, const struct mf_error *err);

/*
 * If @child shares its parent's profile, gives it a copy of its own. If that fails, informs the user, drops @child and
 * returns false.
 */
bool mf_shared_profile_settle(struct mf_heap_process **list, struct mf_heap_process *child);

/*
 * Passes the profile of @process to the children that share it: the last child takes over the memory, the others get
 * copies. Then removes @process from the list and destroys it.
 */
void mf_shared_profile_drop(struct mf_heap_process **list, struct mf_heap_process *process);

/*
 * @process has forked and is about to write to its profile again, which its children may still share. It has sent
 * MF_JOIN_GO_ON on the connection @fd and is waiting for the answer. Takes ownership of @fd. The caller must keep
 * calling mf_shared_profile_answer() until that function has sent the answer.
 */
void mf_shared_profile_ask(struct mf_heap_process *process, int fd);

/*
 * If @process is waiting for the answer to MF_JOIN_GO_ON, sends it once no child shares the profile of @process any
 * more. Children that still share it at the time @process->go_on_until are given copies. @now: mf_timekeeper_now().
 */
void mf_shared_profile_answer(struct mf_heap_process **list, struct mf_heap_process *process, int64_t now);

#endif
