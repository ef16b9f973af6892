/* SPDX-License-Identifier: GPL-2.0 */
/* A file system whose files never come: who reads one waits for as long as its server likes. */
#ifndef SELFTESTS_LIB_NEVER_READ_H
#define SELFTESTS_LIB_NEVER_READ_H

#include <stdbool.h>
#include <sys/types.h>

/* As root: sees that the kernel has FUSE and that everybody may use it. False if it has none. */
bool never_read_available(void);

/*
 * As a plain user, who gets a user and a mount namespace for it: the descriptor of a file of 64 KiB that can be mapped
 * and not be read, or -errno. Its server is a child, *server, which dies with the caller; when it is killed, those
 * who wait get an error.
 */
int never_read_open(pid_t *server);

#endif
