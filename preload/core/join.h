/* SPDX-License-Identifier: GPL-2.0 */
/* Asks massif-ctl for a session of this process's own; the protocol is protocol/join.h's. */
#ifndef MASSIF_PRELOAD_JOIN_H
#define MASSIF_PRELOAD_JOIN_H

#include <stdbool.h>

/*
 * Takes in the value of MASSIF_SESSION. Returns the descriptor that it names, or -1. *@rest is where
 * the part begins that is true for other programs, too; NULL: there is none.
 */
int mf_join_read(char *value, char **rest);

/*
 * A process that was executed asks for its session. @argc and @argv are those of the initial stack.
 * Returns the descriptor of its memory, or -errno; *@trace is another one, or -1.
 */
int mf_join_executed(long argc, char *const *argv, int *trace);

/*
 * This process is about to fork, and the session's writers are at rest. Returns a connection for the
 * child, or a negative number.
 */
int mf_join_fork(void);

/* The session's writers go on. False if massif-ctl cannot be told. */
bool mf_join_go_on(void);

/* In the child: whether massif-ctl knows it now. Then the connection stays. */
bool mf_join_born(int connection);

/* In the child: the descriptor of its copy of the session, or a negative number. */
int mf_join_copy(void);

/* In the child: it could not use that. */
void mf_join_without(void);

/*
 * In a child that was forked in the middle of an event: the descriptor of the memory of process @parent,
 * or a negative number.
 */
int mf_join_borrow(int parent);

/* In a child: the connection that it has is its parent's. */
void mf_join_leave(void);

/*
 * Gives massif-ctl a monitor command. Returns 0 or -errno. If it leads to a file, this process writes
 * that, and says how it went, with -errno, at @path (absolute, if that is known).
 */
struct mf_join_file {
	int connection, contents; /* -1: there is no file */
	char name[4096];
};
int mf_join_command(const char *text, struct mf_join_file *file);
void mf_join_written(const struct mf_join_file *file, const char *path, int code);

/* This process is about to execute a program, or it failed to. Nothing in others of its memory. */
void mf_join_executing(bool begins);

/*
 * This process, or one that it makes, is about to execute @path, which is to be looked for in @directories
 * if that is not NULL: massif-ctl knows whether it can be followed there. Also in others of its memory.
 */
void mf_join_starts(const char *path, const char *directories);

#endif
