/* SPDX-License-Identifier: GPL-2.0 */
/* Opens a path that another program supplied, if it is a regular file. */
#ifndef MASSIF_BASE_REGULAR_H
#define MASSIF_BASE_REGULAR_H

/*
 * A path from a profiled process may lead to a device, a pipe or a socket. Opening one can block or have side effects.
 * So the file's type is checked before it is opened.
 *
 * All functions return a descriptor for reading, or -errno. If the path is not a regular file, it is not opened and the
 * result is -EINVAL.
 */
int mf_regular_open(const char *path);

/* Like mf_regular_open(), but @path is relative to the descriptor @directory, as in openat(). */
int mf_regular_openat(int directory, const char *path);

/*
 * Opens the absolute @path as a process with the root directory @root would: symbolic links and ".." do not lead out of
 * @root. (Before Linux 5.6 they can, and may then lead to a regular file under our own root.)
 */
int mf_regular_open_in_root(const char *root, const char *path);

#endif
