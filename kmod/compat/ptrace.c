// SPDX-License-Identifier: GPL-2.0
// Calls the kernel's ptrace_may_access(), which is not exported to modules.
//
// A static call is used because it is a direct call. If the kernel never calls a function indirectly, the function may
// lack the ENDBR instruction that processors with IBT require at the target of an indirect call, and calling it
// indirectly would cause an oops.
#include <linux/cred.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>

#include "compat/prototype.h"
#include "ptrace.h"

#ifdef CONFIG_HAVE_STATIC_CALL
#include <linux/static_call.h>

#include "symbol.h"

/* Refuses every ATTACH if ptrace_may_access() cannot be found. */
static bool cannot_be_asked(struct task_struct *task, unsigned int mode)
{
	return false;
}

DEFINE_STATIC_CALL(massif_ptrace_may_access, cannot_be_asked);

void __init massif_ptrace_init(void)
{
	typeof(&cannot_be_asked) ask;
	unsigned long at;
	bool owned;

	/* If any prototype is not as expected, no session can be set up, so ptrace_may_access() is never needed. */
	if (massif_prototype_other() || massif_symbol_find("ptrace_may_access", &at, &owned))
		return;
	ask = (typeof(ask))at;
	static_call_update(massif_ptrace_may_access, ask);
}

bool massif_ptrace_allows(const struct cred *cred, struct task_struct *task)
{
	const struct cred *old = override_creds(cred);
	bool ok = static_call(massif_ptrace_may_access)(task, PTRACE_MODE_ATTACH_REALCREDS);

	revert_creds(old);
	return ok;
}

#else

void __init massif_ptrace_init(void)
{
}

bool massif_ptrace_allows(const struct cred *cred, struct task_struct *task)
{
	return true;
}

#endif
