/* SPDX-License-Identifier: GPL-2.0 */
/* The log file, which replaces standard error. */
#ifndef MASSIF_CTL_LOGFILE_H
#define MASSIF_CTL_LOGFILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "ctl/options/options.h"

struct mf_logfile {
	const char *pattern; /* the value of --log-file */
	/* if the log's name contains the program's pid: the temporary name until the pid is known */
	char *temporary;
	struct mf_outputs *outputs; /* the output files of the run, which include the log */
	int fd;		     /* descriptor of the log; -1 if messages go to standard error */
};

/*
 * Opens the target of --log-file or --log-fd and sends messages there. Returns 0 or -errno, with a message in
 * @err for standard error.
 */
int mf_logfile_open(struct mf_logfile *log, const struct mf_options *options,
		    struct mf_error *err);

/* Gives the file its final name, now that @pid is known. Reports errors itself. */
void mf_logfile_name(struct mf_logfile *log, pid_t pid);

/*
 * Returns whether messages go to a regular file. The descriptor of a regular file, unlike that of a pipe, can be kept
 * open, because no reader waits for end of file.
 */
bool mf_logfile_is_file(void);

/*
 * Redirects messages for a background process. Messages to a regular file continue to go there, through a descriptor
 * other than 0, 1 and 2. Otherwise, they go to the file @name, which is created when the first problem is reported. The
 * string @name must stay valid. Returns 0 or -errno.
 */
int mf_logfile_detach(struct mf_logfile *log, const char *name, struct mf_error *err);

/* Closes the log; later messages go to standard error. Accepts a structure that is zero except for @fd. */
void mf_logfile_close(struct mf_logfile *log);

#endif
