// SPDX-License-Identifier: GPL-2.0
// Detects that a profiled process has executed a program that cannot be profiled.

#include "program_watch.h"

#include "ctl/launch/proc_maps.h"
#include "ctl/message/message.h"
#include "shared_profile.h"
#include "timekeeper.h"

enum {
	FIRST_WATCH_MS = 1, /* the first interval between looks; doubles up to LAST_WATCH_MS */
	LAST_WATCH_MS = 500,
};

void mf_program_watch_later(struct mf_heap_process *process)
{
	if (process->watch_ms < 0)
		process->watch_ms = FIRST_WATCH_MS;
	else
		process->watch_ms = process->watch_ms * 2 < LAST_WATCH_MS ? process->watch_ms * 2 : LAST_WATCH_MS;
	process->watch_at = mf_timekeeper_now() + process->watch_ms;
}

bool mf_program_watch_is_due(const struct mf_heap_process *process, int64_t now)
{
	return process->watch_ms >= 0 && now >= process->watch_at;
}

void mf_program_watch_say(const struct mf_heap_process *process)
{
	mf_message_say(process->launched ? MF_MESSAGE_PROBLEM : MF_MESSAGE_DETAIL,
		       "process %d (%s) executed a program that heap mode cannot profile; no file is written for this "
		       "process",
		       (int)process->pid, process->title);
}

void mf_program_watch_look(struct mf_heap_process **processes, struct mf_heap_process *process)
{
	/*
	 * When a profiled process executes a program, that program first connects to massif-ctl, and maps its session
	 * only later.
	 */
	bool had_session = process->forked || __atomic_load_n(&process->store.header->pid, __ATOMIC_ACQUIRE);
	enum mf_proc_maps sight = mf_proc_maps_of(process->pid);
	bool executes = mf_heap_process_executes(process);

	/*
	 * A process without any mapping (MF_MAPPED_ENDING) is looked at again, too, until its pidfd reports the end: only
	 * its first thread may have ended, or it may have executed a program after its maps file had been opened.
	 */
	mf_program_watch_later(process);
	process->departs = (sight == MF_MAPPED_ARRIVING && had_session) || (executes && sight != MF_MAPPED_OURS);
	/* MF_MAPPED_UNKNOWN means that the new program's maps are unreadable, because it gained privileges. */
	if (sight == MF_MAPPED_OTHER || (executes && sight == MF_MAPPED_UNKNOWN)) {
		mf_program_watch_say(process);
		mf_shared_profile_drop(processes, process);
	}
}
