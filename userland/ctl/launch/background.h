/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Moves massif-ctl into the background: a child in a session of its own carries on with the profiles, detached from the
 * parent's terminal, pipes and working directory.
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
	struct mf_options *options; /* the child makes the file names in the options absolute */
	struct mf_logfile *log;
	const struct mf_signals *signals;
	/* the output file is an inherited descriptor, so the child keeps inherited descriptors open */
	bool keep_descriptors;
	/* Called in the child to restore threads and mappings that fork() does not copy. Returns 0 or -errno. */
	int (*resume)(void *data, struct mf_error *err);
	void *data;

	/* the absolute forms of relative output file names, or NULL, and the name of the log; owned */
	char *names[4];
};

/*
 * Forks; this process must be single-threaded. Returns 0 in the child. In the parent, returns the child's pid once the
 * child has taken over the profiles, or -errno if there is no child.
 */
pid_t mf_background_start(struct mf_background *background, struct mf_error *err);

/* Joins @directory, a literal path, and @name, a pattern with %. The caller frees the result; NULL if out of memory. */
char *mf_background_join(const char *directory, const char *name);

/* Frees @background->names; nothing may use these names any more. Accepts an all-zero structure. */
void mf_background_deinit(struct mf_background *background);

/*
 * Builds the name of the file to which the background process @pid reports problems if its messages do not go to a log
 * file. The file is placed next to the output file, and is created only when needed. The caller frees *@name. Returns 0
 * or -ENOMEM.
 */
int mf_background_log(const struct mf_background *background, pid_t pid, char **name);

#endif
