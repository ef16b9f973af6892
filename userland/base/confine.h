/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lets a process drop its privileges before it reads files that may be hostile.
 *
 * Afterwards it can still compute, allocate memory, read the files it is given, communicate over one socket, and exit.
 */
#ifndef MASSIF_BASE_CONFINE_H
#define MASSIF_BASE_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

/* Descriptor numbers in a confined process. */
#define MF_CONFINE_SOCKET 0
#define MF_CONFINE_FILE	  1

#define MF_CONFINE_MEMORY_MAX (16ull << 30) /* address space, in bytes, that a confined process may allocate */

/* Privileges that were dropped. If a bit is missing, the kernel refused to drop that privilege. */
enum {
	MF_CONFINED_USER = 1 << 0,	   /* the process runs as user nobody, or was unprivileged before */
	MF_CONFINED_CAPABILITIES = 1 << 1, /* the process has no capabilities */
	MF_CONFINED_EXEC = 1 << 2,	   /* the process cannot gain privileges by executing a program */
	MF_CONFINED_CALLS = 1 << 3,	   /* the process can make only a few system calls (seccomp) */
	MF_CONFINED_ALL = (1 << 4) - 1,
};

/*
 * Returns whether this process has privileges that an ordinary user lacks: that is, whether it runs as root or has any
 * capability.
 */
bool mf_confine_has_rights(void);

/*
 * Confines the calling process permanently. It must be a single-threaded child that was forked for this purpose. All
 * descriptors except @socket and @file (-1 if there is none) are closed; these two become MF_CONFINE_SOCKET and
 * MF_CONFINE_FILE. Memory that it shares with other processes is unmapped. The kernel kills the process after @cpu_s
 * seconds of CPU time.
 *
 * If @open is not NULL, it replaces the system call whenever code in this process opens a file for reading. @open
 * returns a descriptor or -errno and must not take any lock.
 *
 * Returns which privileges of MF_CONFINED_ALL were dropped.
 */
unsigned int mf_confine(int socket, int file, unsigned int cpu_s, int (*open)(const char *path));

#endif
