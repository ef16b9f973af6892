/* SPDX-License-Identifier: GPL-2.0 */
/* Asks the kernel whether ptrace may attach to a process. */
#ifndef MASSIF_COMPAT_PTRACE_H
#define MASSIF_COMPAT_PTRACE_H

#include <linux/init.h>
#include <linux/types.h>

struct cred;
struct task_struct;

/**
 * massif_ptrace_init() - find ptrace_may_access(), after massif_prototype_init().
 * Context: process context, when the module is loaded; may sleep.
 */
void __init massif_ptrace_init(void);

/**
 * massif_ptrace_allows() - check whether the kernel, with its security modules, would let current attach to a
 * task.
 * @cred: credentials to use for the check instead of current's own.
 * @task: the task to attach to.
 * Context: process context; does not sleep.
 * Return: true if it would; always true on kernels without static calls.
 */
bool massif_ptrace_allows(const struct cred *cred, struct task_struct *task);

#endif
