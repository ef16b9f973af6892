/* SPDX-License-Identifier: GPL-2.0 */
/* Tells from /proc in which state another process is, and waits for a state: for up to a minute times MASSIF_PATIENCE. */
#ifndef MASSIF_SELFTESTS_PROCESS_STATE_H
#define MASSIF_SELFTESTS_PROCESS_STATE_H

#include <stdbool.h>
#include <sys/syscall.h> /* the numbers for process_await_call() */
#include <sys/types.h>

/* Returns the state of a process's first thread as a letter of proc(5), such as 'S' or 'Z'; 0 if there is no process. */
char process_state(pid_t pid);

/* Waits until each thread of the process has the state @state. Returns false if that does not happen. */
bool process_await_state(pid_t pid, char state);

/*
 * Waits until the process's first thread is blocked in the system call @number. Returns false if that does not happen,
 * or if the caller may not see it.
 */
bool process_await_call(pid_t pid, long number);

/*
 * Waits until a child of the calling process has executed a program other than the caller's. Returns false if it does
 * not, or has ended.
 */
bool process_await_exec(pid_t pid);

/* Writes the state, system call and kernel stack of each process to stderr, as comments of a test. For root. */
void process_log_all(void);

#endif
