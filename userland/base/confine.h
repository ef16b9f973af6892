/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A process that gives up its rights, to read what somebody hostile may have written.
 *
 * What it can do afterwards: compute, get memory, read the files that others hand it, talk over one socket, and end.
 */
#ifndef MASSIF_BASE_CONFINE_H
#define MASSIF_BASE_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

/* The descriptors in a process that is confined, of those from before. */
#define MF_CONFINE_SOCKET 0
#define MF_CONFINE_FILE	  1

#define MF_CONFINE_MEMORY_MAX (16ull << 30) /* bytes of addresses beyond those that it has */

/* What was given up. What is missing the kernel refused. */
enum {
	MF_CONFINED_USER = 1 << 0,	   /* it is nobody's; also if it was no privileged user's before */
	MF_CONFINED_CAPABILITIES = 1 << 1, /* it has none */
	MF_CONFINED_EXEC = 1 << 2,	   /* no program gives it rights */
	MF_CONFINED_CALLS = 1 << 3,	   /* it can make few system calls only (seccomp) */
	MF_CONFINED_ALL = (1 << 4) - 1,
};

/* Does this process have rights that an ordinary user's has not: is it root's, or has it a capability? */
bool mf_confine_has_rights(void);

/*
 * Confines the calling process for as long as it lives: a child that was forked for that, with one thread. All its
 * descriptors but @socket and @file (-1: none) are closed; these two become MF_CONFINE_SOCKET and MF_CONFINE_FILE.
 * Memory that it shares with other processes is unmapped. @cpu_s: seconds of processor time after which the kernel
 * ends it.
 *
 * @open, if it is not NULL, is called in the place of the system call when code of this process opens the file @path for reading; it
 * returns a descriptor or -errno, and may use no function that needs a lock. Returns what of MF_CONFINED_ALL holds.
 */
unsigned int mf_confine(int socket, int file, unsigned int cpu_s, int (*open)(const char *path));

#endif
