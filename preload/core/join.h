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
 * What a forked child inherits so that it can get a session of its own: a connection to massif-ctl, and the page that it
 * will share with massif-ctl.
 */
struct mf_join_child {
	int connection, page; /* file descriptors of the connection to massif-ctl and of the shared page; 0 if none */
};

/*
 * Tells massif-ctl that this process is about to fork, and stores in @child what the child needs to get a session.
 * Returns false if the child cannot get one. Context: the session memory is frozen, so no thread writes to it.
 */
bool mf_join_fork(struct mf_join_child *child);

/* Closes the descriptors of the connection and the page that @child contains, if there are any. */
void mf_join_forget(struct mf_join_child *child);

/*
 * Tells massif-ctl that this process, which has forked, is about to write to the session memory again. Returns false if
 * massif-ctl cannot be reached.
 */
bool mf_join_go_on(void);

/*
 * In a forked child: asks massif-ctl for a session, over the connection that mf_join_fork() has stored in @child.
 * Returns false on failure.
 */
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

/* In a forked child: forgets the parent's session, so that this process is no longer treated as having one. */
void mf_join_leave(void);

/*
 * mf_join_command() sends massif-ctl a monitor command. Returns 0 or -errno. If the command produces a file,
 * @file->contents is a descriptor from which its contents can be read, and @file->name is its name. The caller writes
 * the file with the permissions of this process. It then calls mf_join_written() with the @path that was written
 * (absolute if possible) and the result @code, 0 or -errno. mf_join_written() also closes the two descriptors in @file.
 */
struct mf_join_file {
	/*
	 * descriptors of the connection to massif-ctl, and of the contents of the file that a monitor command writes;
	 * -1 if it writes none
	 */
	int connection, contents;
	char name[4096];
};
int mf_join_command(const char *text, struct mf_join_file *file);
void mf_join_written(const struct mf_join_file *file, const char *path, int code);

/*
 * Reports that this process is about to call exec (if @begins is true), or that exec failed. Does nothing in a vfork
 * child, because such a child shares its parent's memory.
 */
void mf_join_executing(bool begins);

/*
 * Reports that this process, or a child that it creates, is about to execute @path. If @directories is not NULL,
 * it is the PATH in which @path is searched. massif-ctl decides whether that program can be profiled. May be called
 * in a vfork child.
 */
void mf_join_starts(const char *path, const char *directories);

/*
 * Reports that this process is about to execute @path without the shim. @code is -ELIBBAD if the program cannot load the
 * shim, -ENOMEM if there is no memory for its environment, otherwise the -errno with which looking for the shim's file
 * failed. May be called in a vfork child.
 */
void mf_join_leaves(const char *path, int code);

#endif
