/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a process of the program's family comes to a profile of its own.
 *
 * massif-ctl listens at a socket of packets with an abstract name. The name and a secret stand in the
 * environment variable MASSIF_SESSION of the program, and of what it executes where that is to be
 * profiled, too:
 *
 *	MASSIF_SESSION=FD@NAME:SECRET	the session's memory is descriptor FD
 *	MASSIF_SESSION=@NAME:SECRET	ask for it
 *	MASSIF_SESSION=FD		nobody listens
 *
 * The name can be seen by everybody, so massif-ctl answers who knows the secret; the kernel tells it
 * the process. Who asks believes only a socket of its own user or of root. A request is one packet, a
 * struct mf_join_request with text behind it; the answer is a struct mf_join_answer with descriptors:
 * the session's memory, and where to tell of calls if that is wanted. The connection stays open, so that
 * its end tells massif-ctl of the end of the image.
 */
#ifndef MASSIF_BASE_JOIN_H
#define MASSIF_BASE_JOIN_H

#include <stdint.h>

#define MF_JOIN_VARIABLE "MASSIF_SESSION"
#define MF_JOIN_PREFIX	 "massif-join/"
#define MF_JOIN_MAGIC	 0x6e696f6au

#define MF_JOIN_SECRET_DIGITS 32u
#define MF_JOIN_NAME_MAX      64u
#define MF_JOIN_PATH_MAX      4096u  /* longer ones are cut */
#define MF_JOIN_ARGS_MAX      65536u /* the same; then the last byte is no NUL */
#define MF_JOIN_FDS	      2

enum mf_join_verb {
	MF_JOIN_EXECUTED, /* a new image: its path, and its arguments, each with its NUL */
	MF_JOIN_FORK,	  /* a process will fork, and changes nothing until it says */
	MF_JOIN_GO_ON,	  /* that it will; it waits for the answer */
	MF_JOIN_BORN,	  /* on the connection of MF_JOIN_FORK: the child */
	MF_JOIN_COPY,	  /* a child wants memory of its own. There, or on a new connection */
	MF_JOIN_WITHOUT,  /* the child could not take it, and goes on without a profile. Not answered */
	MF_JOIN_BORROW,	  /* a child that was forked in the middle of an event wants the memory of the
			   * process whose number is the path; what it changes there is its own */
	MF_JOIN_EXECUTES, /* it is about to be another program; */
	MF_JOIN_STAYS,	  /* that failed. These are not answered on a connection that stands */
	MF_JOIN_STARTS,	  /* it, or a child of it, is about to execute the path; the argument is the
			   * PATH in which to look for it, or empty. It is not answered */
	MF_JOIN_COMMAND,  /* the program gives a monitor command, which is the path */
	MF_JOIN_WRITTEN,  /* on the same connection, not answered: what became of the file; its path,
			   * and as an argument what errno was, if that is not 0 */
	MF_JOIN_VERBS,
};

struct mf_join_request {
	uint32_t magic;
	uint32_t verb; /* enum mf_join_verb */
	uint32_t path_bytes, args_bytes; /* of the text behind */
	char secret[MF_JOIN_SECRET_DIGITS];
};

/*
 * To a command that leads to a file, the contents are the descriptor, and its name is behind the
 * answer, up to MF_JOIN_PATH_MAX bytes with a NUL. The process writes the file, with its own rights.
 */
struct mf_join_answer {
	uint32_t magic;
	int32_t code; /* 0, or -errno: it is not to be profiled; -ENOSYS: there is no such command */
};

#endif
