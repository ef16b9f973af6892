/* SPDX-License-Identifier: GPL-2.0 */
/* Keeps a file that needs too much memory from taking all of the machine's. */
#ifndef MASSIF_BASE_MEMORY_LIMIT_H
#define MASSIF_BASE_MEMORY_LIMIT_H

#include <stdint.h>

/*
 * Limits the address space of this process, and of those that it starts, to half of the memory that it may use: the
 * machine's, or less if one of its cgroups has a limit; but to no less than 128 MiB, which the program itself needs. A
 * lower limit of its own stays as it is. Beyond, malloc() fails, which is reported; without the limit, the kernel would
 * first swap out other programs, and then kill one. Has no effect in programs built with AddressSanitizer or
 * ThreadSanitizer, whose address space is much larger than their memory.
 */
void mf_memory_limit(void);

/*
 * Returns the lowest memory limit of the cgroups in @list, which has the format of /proc/PID/cgroup, and of those above
 * them, in bytes; UINT64_MAX if there is none. @mount is where the hierarchies are mounted, usually /sys/fs/cgroup.
 */
uint64_t mf_memory_limit_of_cgroups(const char *list, const char *mount);

#endif
