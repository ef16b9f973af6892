/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a process that the program forks or executes gets a profile of its own: the protocol between shim and massif-ctl.
 *
 * massif-ctl listens on a sequenced-packet socket with an abstract name. The name and a secret are in the environment
 * variable MASSIF_SESSION of the program, and of the programs it executes if those are to be profiled as well:
 *
 *	MASSIF_SESSION=FD@NAME:SECRET	the session's memory is descriptor FD
 *	MASSIF_SESSION=@NAME:SECRET	ask for the session's memory
 *	MASSIF_SESSION=FD		nobody listens
 *
 * Anyone can see the name, so massif-ctl only answers clients that know the secret; the kernel identifies the client's
 * process. The client only trusts a socket that belongs to its own user or to root. A request is one packet: struct
 * mf_join_request followed by text. The answer is struct mf_join_answer with descriptors: the session's memory and, if
 * calls are to be traced, where to write the trace. The connection stays open; when it closes, massif-ctl knows that
 * the process has ended or executed another program.
 */
#ifndef MASSIF_PROTOCOL_JOIN_H
#define MASSIF_PROTOCOL_JOIN_H

#include <stdint.h>

#define MF_JOIN_VARIABLE "MASSIF_SESSION"
#define MF_JOIN_PREFIX	 "massif-join/"
#define MF_JOIN_MAGIC	 0x6e696f6au

#define MF_JOIN_SECRET_DIGITS 32u
#define MF_JOIN_NAME_MAX      64u
#define MF_JOIN_PATH_MAX      4096u  /* longer paths are truncated */
#define MF_JOIN_ARGS_MAX      65536u /* longer arguments are truncated, and then do not end in NUL */
#define MF_JOIN_FDS	      2

enum mf_join_verb {
	MF_JOIN_EXECUTED, /* a program was executed: its path and its arguments, each NUL-terminated */
	MF_JOIN_FORK,	  /* the process is about to fork, and changes nothing until GO_ON */
	MF_JOIN_GO_ON,	  /* the process has forked; it waits for the answer before it changes its profile */
	MF_JOIN_BORN,	  /* sent by the child on the connection used for MF_JOIN_FORK */
	MF_JOIN_COPY,	  /* a child asks for a copy of the memory, on MF_JOIN_FORK's connection or a new one */
	MF_JOIN_WITHOUT,  /* the child could not use the copy and continues without a profile; not answered */
	MF_JOIN_BORROW,	  /* a child that was forked in the middle of an event asks for the memory of the process
			   * whose pid is in the path field; the child maps it privately */
	MF_JOIN_EXECUTES, /* the process is about to call exec; answered only on a new connection */
	MF_JOIN_STAYS,	  /* the exec after MF_JOIN_EXECUTES failed; answered only on a new connection */
	MF_JOIN_STARTS,	  /* the process or a child of it is about to execute the path; the argument is the PATH to
			   * search, or empty; not answered */
	MF_JOIN_COMMAND,  /* the program executes a monitor command; the path is its text */
	MF_JOIN_WRITTEN,  /* result of writing the file of MF_JOIN_COMMAND, on the same connection: the file's path
			   * and, if writing failed, errno as an argument; not answered */
	MF_JOIN_VERBS,
};

struct mf_join_request {
	uint32_t magic;
	uint32_t verb; /* enum mf_join_verb */
	uint32_t path_bytes, args_bytes; /* sizes of the two parts of the text that follows */
	char secret[MF_JOIN_SECRET_DIGITS];
};

/*
 * If a command produces a file, the descriptor refers to its contents, and the file's name follows the answer: up to
 * MF_JOIN_PATH_MAX bytes including the NUL. The process writes the file itself, with its own privileges.
 */
struct mf_join_answer {
	uint32_t magic;
	int32_t code; /* 0, -ENOSYS for an unknown command, or another -errno if the process is not to be profiled */
};

#endif
