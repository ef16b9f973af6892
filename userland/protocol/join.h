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
 * mf_join_request followed by text. The answer is struct mf_join_answer with descriptors (enum mf_join_fd). Almost
 * every request has a connection of its own, so that no descriptor stays open in the program.
 *
 * The process maps the page whose descriptor comes with an answer (MF_JOIN_FD_PAGE), and closes the descriptor. When
 * the mapping disappears, massif-ctl knows that the process has ended or executed another program
 * (ctl/heap/space_watch.h). The process also uses the page to tell massif-ctl things that need no answer. If massif-ctl
 * has no page for a process, the process sends messages instead.
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

enum mf_join_verb {
	MF_JOIN_EXECUTED, /* a program was executed: its path and its arguments, each NUL-terminated */
	MF_JOIN_FORK,	  /* the process is about to fork, and will not change its profile until it has sent
			   * MF_JOIN_GO_ON */
	MF_JOIN_GO_ON,	  /* the process has forked, and waits for the answer before it changes its profile */
	MF_JOIN_BORN,	  /* first message of a forked child, on the connection that its parent used for MF_JOIN_FORK */
	MF_JOIN_COPY,	  /* a forked child asks for its own copy of the memory that holds the parent's profile */
	/*
	 * sent by a child that shares no page with massif-ctl (struct mf_join_page): it could not use its copy of the
	 * profile's memory, and continues without a profile; massif-ctl does not answer
	 */
	MF_JOIN_WITHOUT,
	/*
	 * sent by a child that a signal handler forked in the middle of an event: asks for the session memory of the
	 * child's parent, whose pid is in the path field. The child maps that memory privately, so that finishing the
	 * event does not change the parent's session. The descriptor is for reading, and only a child with the parent's
	 * ids gets it.
	 */
	MF_JOIN_BORROW,
	/*
	 * sent by a process that shares no page with massif-ctl (struct mf_join_page): it is about to call exec, and
	 * waits for the answer first
	 */
	MF_JOIN_EXECUTES,
	/*
	 * a call to exec has failed, so the process continues with its old program; the process waits for the answer
	 * unless it shares a page with massif-ctl (struct mf_join_page)
	 */
	MF_JOIN_STAYS,
	/*
	 * the process or one of its children is about to execute a program: the path field names the program, and the
	 * arguments field is the value of PATH in which to search for it, or empty; massif-ctl does not answer
	 */
	MF_JOIN_STARTS,
	/*
	 * the process is about to execute a program without the shim: the path field names the program, and the
	 * arguments field is an errno in decimal: ELIBBAD if the program has another C library's dynamic loader,
	 * ENOMEM if there is no memory for the program's environment, otherwise the reason why the process cannot reach
	 * the shim's file. The process waits for the answer, so that massif-ctl can see which root directory it has.
	 */
	MF_JOIN_LEAVES,
	MF_JOIN_COMMAND,  /* the program issues a monitor command, whose text is in the path field */
	/*
	 * sent on the same connection as MF_JOIN_COMMAND, after the process has tried to write the file that the
	 * command produces. The path field is the path of that file; if writing failed, the arguments field is the
	 * errno in decimal. massif-ctl does not answer.
	 */
	MF_JOIN_WRITTEN,
	MF_JOIN_VERBS,
};

struct mf_join_request {
	uint32_t magic;
	uint32_t verb; /* what the client asks for or reports: enum mf_join_verb */
	uint32_t path_bytes, args_bytes; /* sizes of the path and of the arguments, which follow as text */
	char secret[MF_JOIN_SECRET_DIGITS];
};

/* The descriptors that an answer may carry, in this order. */
enum mf_join_fd {
	MF_JOIN_FD_MEMORY, /* the session's memory, or the contents of the file that a monitor command produces */
	MF_JOIN_FD_TRACE,  /* with --trace-malloc: descriptor to which the shim writes each allocation call */
	MF_JOIN_FD_PAGE,   /* the page that the process shares with massif-ctl: a struct mf_join_page */
	MF_JOIN_FDS,
};

/* The page that a process shares with massif-ctl; only the process writes to it. */
struct mf_join_page {
	uint32_t executes; /* the process is about to call exec, or has done so */
	uint32_t without;  /* a child could not use its copy of the profile's memory, and continues without a profile */
};

#define MF_JOIN_PAGE_BYTES 4096u

/*
 * massif-ctl's answer to a request. If the request is a monitor command that produces a file, the descriptor
 * MF_JOIN_FD_MEMORY refers to the file's contents, and the file's name follows the answer: up to MF_JOIN_PATH_MAX bytes
 * including the NUL. The process writes the file itself, with its own privileges.
 */
struct mf_join_answer {
	uint32_t magic;
	int32_t code; /* 0, -ENOSYS for an unknown command, or another -errno if the process is not to be profiled */
	uint32_t fds; /* bit N is set if the answer carries descriptor N of enum mf_join_fd */
};

#endif
