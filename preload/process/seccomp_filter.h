/* SPDX-License-Identifier: GPL-2.0 */
/* What a seccomp filter does with a system call. */
#ifndef MASSIF_PRELOAD_FILTER_H
#define MASSIF_PRELOAD_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>

/* Does @filter, which the kernel has accepted, let @call happen as if there were no filter? False also if unsure. */
bool mf_seccomp_filter_allows(const struct sock_fprog *filter, const struct seccomp_data *call);

#endif
