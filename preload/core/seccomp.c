// SPDX-License-Identifier: GPL-2.0
// Whether the program has restricted its own system calls. Noticed by process/prctl.c.

#include "seccomp.h"

#include "process_id.h"
#include "readable.h"

bool mf_seccomp_on;

/* Whether a child of vfork(), which has restricted itself, is about to execute a program. */
static bool is_guest_executing;
static bool may_guest_wait;

void mf_seccomp_note(bool may_wait)
{
	__atomic_store_n(&mf_seccomp_on, true, __ATOMIC_RELAXED);
	if (may_wait)
		return;
	mf_readable_forbid(true);
	if (mf_session_store.header && !mf_process_id_is_guest())
		mf_session_store.header->may_not_wait = 1;
}

void mf_seccomp_executing(bool begins)
{
	if (begins) {
		is_guest_executing = mf_seccomp_is_on() && mf_process_id_is_guest();
		may_guest_wait = !mf_readable_is_forbidden();
	}
	if (!is_guest_executing)
		return;
	__atomic_store_n(&mf_seccomp_on, !begins, __ATOMIC_RELAXED);
	mf_readable_forbid(!begins && !may_guest_wait);
}
