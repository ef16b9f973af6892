/* SPDX-License-Identifier: GPL-2.0 */
/* Finds out whether a program that is about to be executed can load the shim. */
#ifndef MASSIF_PRELOAD_LOADER_H
#define MASSIF_PRELOAD_LOADER_H

#include <stdbool.h>

/*
 * Returns true if the program has another dynamic loader than glibc's, such as musl's, which would end the program
 * because it cannot load the shim; or if the program is musl's loader itself. Returns false if the program's file cannot be
 * read.
 *
 * @directory and @path are as in execveat(2); if @path is empty, @directory is the program's file. @directories: the
 * list of directories in which to search for @path, separated by colons, or NULL.
 *
 * Context: makes system calls, and uses only the stack, since the caller may be a child that shares its parent's memory.
 * Preserves errno.
 */
bool mf_loader_is_foreign(int directory, const char *path, const char *directories);

#endif
