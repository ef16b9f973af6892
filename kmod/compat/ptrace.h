/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel says of a process that somebody wants to ptrace. */
#ifndef MASSIF_COMPAT_PTRACE_H
#define MASSIF_COMPAT_PTRACE_H

#include <linux/init.h>
#include <linux/types.h>

struct cred;
struct task_struct;

void __init massif_ptrace_init(void);

/*
 * Would the kernel let current, with these credentials, attach to task by ptrace? Its security modules have a say. True
 * where the kernel cannot be asked. Does not sleep.
 */
bool massif_ptrace_allows(const struct cred *cred, struct task_struct *task);

#endif
