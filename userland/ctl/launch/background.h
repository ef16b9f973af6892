/* SPDX-License-Identifier: GPL-2.0 */
/*
 * massif-ctl in the background: a child goes on with the profiles, with neither terminal nor pipes nor
 * working directory of its parent's, and in a session of its own.
 */
#ifndef MASSIF_CTL_BACKGROUND_H
#define MASSIF_CTL_BACKGROUND_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "ctl/output/logfile.h"
#include "ctl/options/options.h"
#include "signals.h"

struct mf_background {
	struct mf_options *options; /* names of files in it become absolute in the child */
	struct mf_logfile *log;
	const struct mf_signals *signals;
	bool keep_descriptors; /* one of them is the output file */
	/* In the child: makes of it what the parent was. Returns 0 or -errno. */
	int (*resume)(void *data, struct mf_error *err);
	void *data;

	char *names[3]; /* the absolute ones, and the log's; owned */
};

/*
 * Forks; this process must have one thread. Returns 0 in the child; in the parent the child's pid once the
 * child goes on, or -errno, and there is no child.
 */
pid_t mf_background_start(struct mf_background *background, struct mf_error *err);

/* @name, a pattern with %, in @directory, which is none. To be freed; NULL if memory is short. */
char *mf_background_join(const char *directory, const char *name);

/* Releases the names, which nobody uses any more. Allowed for one that is all zero. */
void mf_background_deinit(struct mf_background *background);

/*
 * Where process @pid in the background says what is wrong: the log file, or a file beside the output file
 * that it creates then. *@name is to be released with free(). Returns 0 or -ENOMEM.
 */
int mf_background_log(const struct mf_background *background, pid_t pid, char **name);

#endif
