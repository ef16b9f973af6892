/* SPDX-License-Identifier: GPL-2.0 */
/* An empty BPF program at the entry of a kernel function: the other user of ftrace's direct calls. */
#ifndef SELFTESTS_LIB_BPF_FENTRY_H
#define SELFTESTS_LIB_BPF_FENTRY_H

/*
 * A descriptor, whose close takes it away, or -errno: -ENOENT if the kernel has no description of its
 * functions (BTF), or not of this one.
 */
int bpf_fentry(const char *function);

#endif
