/* SPDX-License-Identifier: GPL-2.0 */
/* Asks massif-ctl for this process's own session. The protocol is in protocol/join.h. */
#ifndef MASSIF_PRELOAD_JOIN_H
#define MASSIF_PRELOAD_JOIN_H

#include <stdbool.h>

/*
 * Parses @value, the value of MASSIF_SESSION, and keeps the address of massif-ctl's socket. Returns the file descriptor
 * in @value, or -1. Sets *@rest to the part of @value that is also valid for programs that this one executes, or to
 * NULL if there is no such part.
 */
int mf_join_read(char *value, char **rest);

/*
 * Asks for a session for this program, which has just been executed. @argc and @argv are taken from the initial stack.
 * Returns the descriptor of the session memory, or -errno. Sets *@trace to the descriptor to which allocation calls are
 * reported, or to -1. The caller owns both.
 */
int mf_join_executed(long argc, char *const *argv, int *trace);

/*
 * What a forked child inherits in order to join: a connection to massif-ctl, and the page that the child will share
 * with it.
 */
struct mf_join_child {
	int connection, page; /* descriptors of the connection and the page; 0 if there is none */
};

/*
 * Announces a fork and stores in @child what the child needs. Returns false if the child cannot join. Context: the
 * session's state is frozen, so no thread writes to it.
 */
bool mf_join_fork(struct mf_join_child *child);

/* Closes the descriptors in @child, if there are any. */
void mf_join_forget(struct mf_join_child *child);

/* Announces that threads will write to the session memory again. Returns false if massif-ctl cannot be reached. */
bool mf_join_go_on(void);

/* In the child: joins, with what mf_join_fork() has stored in @child. Returns false if that fails. */
bool mf_join_born(struct mf_join_child *child);

/* In the child: returns the descriptor of the child's copy of the session memory, or a negative number. */
int mf_join_copy(void);

/* In the child: reports that the child could not use its copy of the session memory and continues without a profile. */
void mf_join_without(void);

/*
 * In a child that was forked in the middle of an event: returns the descriptor of process @parent's session memory, or
 * a negative number.
 */
int mf_join_borrow(int parent);

/* In a child: forgets that its parent has joined. */
void mf_join_leave(void);

/*
 * mf_join_command() sends massif-ctl a monitor command. Returns 0 or -errno. If the command writes a file,
 * @file->contents is a descriptor for reading the contents, and @file->name is the file's name. The caller writes the
 * file, with this process's own rights, and then calls mf_join_written() with the @path written (absolute if possible)
 * and 0 or -errno. mf_join_written() also closes both descriptors.
 */
struct mf_join_file {
	int connection, contents; /* descriptors; -1 if the command writes no file */
	char name[4096];
};
int mf_join_command(const char *text, struct mf_join_file *file);
void mf_join_written(const struct mf_join_file *file, const char *path, int code);

/*
 * Reports that this process is about to call exec (@begins is true), or that exec failed. Does nothing in a vfork
 * child, because it shares its parent's memory.
 */
void mf_join_executing(bool begins);

/*
 * Reports that this process, or a child that it creates, is about to execute @path. If @directories is not NULL,
 * it is the PATH in which @path is searched. massif-ctl decides whether that program can be profiled. May be called
 * in a vfork child.
 */
void mf_join_starts(const char *path, const char *directories);

#endif
