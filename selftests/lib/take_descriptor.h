/* SPDX-License-Identifier: GPL-2.0 */
/* Duplicates descriptors of other processes. */
#ifndef MASSIF_SELFTESTS_TAKE_DESCRIPTOR_H
#define MASSIF_SELFTESTS_TAKE_DESCRIPTOR_H

#include <sys/types.h>

/* Duplicates descriptor @theirs of process @pid into this process. Returns the new descriptor, or -1 with errno set. */
int take_descriptor(pid_t pid, int theirs);

#endif
