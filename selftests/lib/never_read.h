/* SPDX-License-Identifier: GPL-2.0 */
/* A file system whose files never deliver data. Reading blocks until the file system's server is killed. */
#ifndef MASSIF_SELFTESTS_NEVER_READ_H
#define MASSIF_SELFTESTS_NEVER_READ_H

#include <stdbool.h>
#include <sys/types.h>

/* Enables FUSE and lets everybody use it. Needs root. Returns false if the kernel has no FUSE. */
bool never_read_available(void);

/*
 * Mounts the file system and opens its only file, which is 64 KiB long and can be mapped but not read. Returns the
 * file's descriptor, or -errno. Call this as an unprivileged user; it moves the caller into a new user namespace and a
 * new mount namespace. The file system is served by *@server, a child process that dies with the caller. When the
 * server is killed, blocked readers get an error.
 */
int never_read_open(pid_t *server);

#endif
