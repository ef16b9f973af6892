/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Like execve(2) and execveat(2), but massif-ctl is notified, and its variables are added to the environment, so that
 * the program is followed.
 */
#ifndef MASSIF_PRELOAD_EXEC_H
#define MASSIF_PRELOAD_EXEC_H

int mf_exec_path(const char *path, char *const argv[], char *const envp[]);
int mf_exec_at(int fd, const char *path, char *const argv[], char *const envp[], int flags);

#endif
