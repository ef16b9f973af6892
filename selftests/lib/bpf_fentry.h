/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attaches an empty BPF program to the entry of a kernel function. Like massif.ko, BPF uses ftrace's direct calls for
 * this.
 */
#ifndef MASSIF_SELFTESTS_BPF_FENTRY_H
#define MASSIF_SELFTESTS_BPF_FENTRY_H

/*
 * Returns a descriptor, or -errno; -ENOENT means that the kernel's BTF does not describe this function. Closing the
 * descriptor detaches the program.
 */
int bpf_fentry(const char *function);

#endif
