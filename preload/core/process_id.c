// SPDX-License-Identifier: GPL-2.0
// Tells the process that the shim was loaded into, or was forked with, from its children of vfork().

#include "process_id.h"

#include <unistd.h>

#include "seccomp.h"

static pid_t owner;	 /* the process that owns the memory; 0 if it was forked in a sandbox */
static pid_t restricted; /* the process that has restricted its system calls; meaningless if none has */

void mf_process_id_note(void)
{
	restricted = 0;
	owner = mf_seccomp_is_on() ? 0 : getpid();
}

void mf_process_id_note_restricted(void)
{
	if (!mf_seccomp_is_on())
		restricted = getpid();
}

pid_t mf_process_id(void)
{
	return mf_seccomp_is_on() ? restricted : getpid();
}

bool mf_process_id_is_guest(void)
{
	return mf_process_id() != owner;
}
