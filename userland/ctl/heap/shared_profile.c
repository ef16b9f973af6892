// SPDX-License-Identifier: GPL-2.0
// A profile that a process shares with the children that it forked.

#include "shared_profile.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ctl/message/message.h"
#include "join_server.h"
#include "timekeeper.h"

enum {
	/* maximum time that a process waits for its children to execute another program or end */
	PATIENCE_MS = 5,
};

/* Searches the list from @process onwards. Returns the first child that shares the profile of @parent, or NULL. */
static struct mf_heap_process *next_sharing(struct mf_heap_process *process, const struct mf_heap_process *parent)
{
	while (process && process->source != parent)
		process = process->next;
	return process;
}

void mf_shared_profile_complain(const struct mf_heap_process *parent, const struct mf_error *err)
{
	mf_message_say(MF_MESSAGE_PROBLEM, "a child of process %d is not profiled: %s",
		       (int)parent->pid, err->text);
}

/*
 * Finishes an attempt to give @child, whose parent is @parent, a profile of its own; @ret is the result. On failure,
 * informs the user and drops @child. Returns whether @child has a profile.
 */
static bool has_settled(struct mf_heap_process **list, struct mf_heap_process *child,
			const struct mf_heap_process *parent, int ret, const struct mf_error *err)
{
	if (ret) {
		mf_shared_profile_complain(parent, err);
		mf_shared_profile_drop(list, child);
	} else if (child->pid && !child->ended) {
		mf_heap_process_start(child);
	}
	return !ret;
}

bool mf_shared_profile_settle(struct mf_heap_process **list, struct mf_heap_process *child)
{
	const struct mf_heap_process *parent = child->source;
	struct mf_error err;
	int ret;

	if (!parent)
		return true;
	ret = mf_heap_process_copy(child, !child->ended, &err);
	return has_settled(list, child, parent, ret, &err);
}

/* Passes the profile of @parent, which no longer needs it, to its children. */
static void pass_on(struct mf_heap_process **list, struct mf_heap_process *parent)
{
	struct mf_heap_process *child;

	while ((child = next_sharing(*list, parent))) {
		struct mf_error err;
		int ret;

		if (next_sharing(child->next, parent)) {
			mf_shared_profile_settle(list, child);
			continue;
		}
		ret = mf_heap_process_inherit(child, parent, &err);
		has_settled(list, child, parent, ret, &err);
	}
}

void mf_shared_profile_drop(struct mf_heap_process **list, struct mf_heap_process *process)
{
	pass_on(list, process);

	while (*list != process)
		list = &(*list)->next;
	*list = process->next;
	mf_heap_process_destroy(process);
}

/*
 * Returns how many milliseconds to wait for the children of @process: about as long as copying the profile would take,
 * but at most PATIENCE_MS.
 */
static int64_t patience_for(const struct mf_heap_process *process)
{
	struct stat file;
	int64_t mib = fstat(process->memory, &file) ? 0 : file.st_blocks / 2048;

	return mib < 1 ? 1 : mib < PATIENCE_MS ? mib : PATIENCE_MS;
}

void mf_shared_profile_ask(struct mf_heap_process *process, int fd)
{
	if (process->go_on_fd >= 0)
		close(process->go_on_fd);
	process->go_on_fd = fd;
	process->go_on_until = mf_timekeeper_now() + patience_for(process);
}

void mf_shared_profile_answer(struct mf_heap_process **list, struct mf_heap_process *process, int64_t now)
{
	struct mf_heap_process *child, *next;

	if (process->go_on_fd < 0)
		return;
	for (child = next_sharing(*list, process); child; child = next) {
		next = next_sharing(child->next, process);
		if (child->ended && mf_heap_process_executes(child))
			mf_shared_profile_drop(list, child);
		else if (child->ended || now >= process->go_on_until)
			mf_shared_profile_settle(list, child);
	}
	if (next_sharing(*list, process))
		return;
	mf_join_server_answer(process->go_on_fd, 0, NULL);
	close(mf_take(process->go_on_fd, -1));
}
