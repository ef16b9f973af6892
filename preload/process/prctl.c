// SPDX-License-Identifier: GPL-2.0
// Detects when the program restricts its own system calls (seccomp) or names a thread. The program's calls are passed on
// unchanged.

#include <linux/audit.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "seccomp_filter.h"
#include "thread_name.h"
#include "core/process_id.h"
#include "core/real.h"
#include "core/seccomp.h"
#include "core/start.h"

#define EXPORT __attribute__((visibility("default")))

/*
 * Returns whether @filter allows FUTEX_WAIT. A single-threaded program does not need futex(2), so its filter may forbid
 * the call, which would then fail or kill the program.
 */
static bool allows_wait(const struct sock_fprog *filter)
{
	const struct seccomp_data wait = {
		.nr = SYS_futex, .arch = AUDIT_ARCH_X86_64, .args = { [1] = FUTEX_WAIT_PRIVATE },
	};

	return mf_seccomp_filter_allows(filter, &wait);
}

/* @filter: NULL for seccomp's strict mode, which does not allow futex(2) either. */
static long note(long result, bool restricts, const struct sock_fprog *filter)
{
	if (!restricts || result < 0)
		return result;
	mf_seccomp_note(filter && allows_wait(filter));
	return result;
}

/*
 * prctl() has a variable number of arguments. Here it is declared with the maximum number; this works because variable
 * arguments are passed in the same way.
 */
int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);

/* Notes the name that the current thread has given itself. */
static long note_name(long result, bool names, unsigned long name)
{
	if (names && !result)
		mf_thread_name_note((const char *)name);
	return result;
}

EXPORT int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	long result;

	if (option == PR_SET_SECCOMP)
		mf_process_id_note_restricted();
	result = mf_start()->prctl(option, a, b, c, d);
	note_name(result, option == PR_SET_NAME, a);
	return (int)note(result, option == PR_SET_SECCOMP,
			 a == SECCOMP_MODE_STRICT ? NULL : (const struct sock_fprog *)b);
}

/* Handles syscall(2) if the system call is prctl or seccomp; see syscall.c. */
long mf_seccomp_call(long number, long a, long b, long c, long d, long e) MF_HIDDEN;

__attribute__((used)) long mf_seccomp_call(long number, long a, long b, long c, long d, long e)
{
	bool by_prctl = number == SYS_prctl;
	bool strictly = by_prctl ? b == SECCOMP_MODE_STRICT : a == SECCOMP_SET_MODE_STRICT;
	bool restricts = by_prctl ? a == PR_SET_SECCOMP : strictly || a == SECCOMP_SET_MODE_FILTER;
	long result;

	if (restricts)
		mf_process_id_note_restricted();
	result = mf_start()->syscall(number, a, b, c, d, e);
	note_name(result, by_prctl && a == PR_SET_NAME, (unsigned long)b);
	return note(result, restricts,
		    strictly ? NULL : (const struct sock_fprog *)c);
}
