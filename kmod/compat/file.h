/* SPDX-License-Identifier: GPL-2.0 */
/* Hides differences between kernel versions in the names of mapped files. */
#ifndef MASSIF_COMPAT_FILE_H
#define MASSIF_COMPAT_FILE_H

#include <linux/fs.h>

/*
 * The path and the inode that /proc/PID/maps shows for the file of a mapping. On overlayfs, newer kernels map the file of
 * the layer below, and keep the path that was opened beside it. Older kernels store that path in the mapped file itself;
 * they show the inode of the layer below.
 */
#ifdef MASSIF_HAVE_file_user_path
static inline const struct path *massif_file_path(const struct file *file)
{
	return file_user_path(file);
}

static inline const struct inode *massif_file_inode(const struct file *file)
{
	return file_user_inode(file);
}
#else
static inline const struct path *massif_file_path(const struct file *file)
{
	return &file->f_path;
}

static inline const struct inode *massif_file_inode(const struct file *file)
{
	return file_inode(file);
}
#endif

#endif
