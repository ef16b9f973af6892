/* SPDX-License-Identifier: GPL-2.0 */
/* The file to which messages go instead of standard error. */
#ifndef MASSIF_CTL_LOGFILE_H
#define MASSIF_CTL_LOGFILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "ctl/options/options.h"

struct mf_logfile {
	const char *pattern; /* the option's text */
	char *temporary;     /* until the program's number is known, if the name depends on it */
	struct mf_outputs *outputs; /* of which the file is one */
	int fd;		     /* -1: messages go to standard error */
};

/*
 * Opens what --log-file or --log-fd say and sends messages there from now on. Returns 0 or -errno;
 * the words in @err are for standard error.
 */
int mf_logfile_open(struct mf_logfile *log, const struct mf_options *options,
		    struct mf_error *err);

/* Gives the file its name, now that @pid is known. Says itself what went wrong. */
void mf_logfile_name(struct mf_logfile *log, pid_t pid);

/* Do messages go to a regular file, which nobody waits for? */
bool mf_logfile_is_file(void);

/*
 * Messages go on to where they go, if that is a regular file, by a descriptor above those of standard input
 * and output; otherwise to the file @name, which must stay, and which is created for the first one that says
 * what is wrong. Returns 0 or -errno.
 */
int mf_logfile_detach(struct mf_logfile *log, const char *name, struct mf_error *err);

/* Also of one that was never opened, if it is all zero but for @fd. Sends messages back. */
void mf_logfile_close(struct mf_logfile *log);

#endif
