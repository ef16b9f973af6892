/* SPDX-License-Identifier: GPL-2.0 */
/* Executes a program over this one, as execve(2) and execveat(2): massif-ctl is told. */
#ifndef MASSIF_PRELOAD_EXEC_H
#define MASSIF_PRELOAD_EXEC_H

int mf_exec_path(const char *path, char *const argv[], char *const envp[]);
int mf_exec_at(int fd, const char *path, char *const argv[], char *const envp[], int flags);

#endif
