/* SPDX-License-Identifier: GPL-2.0 */
/* Opens a file that somebody else has named, if it is a regular one. */
#ifndef MASSIF_BASE_REGULAR_H
#define MASSIF_BASE_REGULAR_H

/*
 * What a process under observation names may be a device, a pipe or a socket under the name of a library, and
 * opening one can do something, or wait. So it is looked at before it is opened.
 *
 * All return a descriptor for reading, or -errno: -EINVAL if it is no regular file, and then it was not opened.
 */
int mf_regular_open(const char *path);

/* @path is relative to @directory, as for openat(). */
int mf_regular_openat(int directory, const char *path);

/*
 * @path is absolute, and of a process whose root is @root, a directory: symbolic links and ".." in it do not lead out
 * of there. (Before Linux 5.6 they can, and what they lead to is a regular file of ours.)
 */
int mf_regular_open_in_root(const char *root, const char *path);

#endif
