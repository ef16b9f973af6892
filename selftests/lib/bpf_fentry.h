/* SPDX-License-Identifier: GPL-2.0 */
/* Attaches an empty BPF program to the entry of a kernel function: like massif.ko, it uses ftrace's direct calls. */
#ifndef MASSIF_SELFTESTS_BPF_FENTRY_H
#define MASSIF_SELFTESTS_BPF_FENTRY_H

/*
 * Returns a descriptor, whose close() detaches the program, or -errno: -ENOENT if the kernel has no BTF description of
 * this function.
 */
int bpf_fentry(const char *function);

#endif
