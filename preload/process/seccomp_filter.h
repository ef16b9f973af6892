/* SPDX-License-Identifier: GPL-2.0 */
/* Evaluates a seccomp filter for a system call. */
#ifndef MASSIF_PRELOAD_SECCOMP_FILTER_H
#define MASSIF_PRELOAD_SECCOMP_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>

/*
 * Would @filter let the system call @call run unchanged? Returns false if this cannot be determined. The kernel must
 * have accepted @filter.
 */
bool mf_seccomp_filter_allows(const struct sock_fprog *filter, const struct seccomp_data *call);

#endif
