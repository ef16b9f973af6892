/* SPDX-License-Identifier: GPL-2.0 */
/* Reports programs that heap mode cannot profile. */
#ifndef MASSIF_CTL_SHIM_UNSUPPORTED_H
#define MASSIF_CTL_SHIM_UNSUPPORTED_H

#include <stdbool.h>
#include <stddef.h>

#include "program.h"

/*
 * Returns a message that says why the shim cannot be loaded into programs of @kind and what to do; NULL if it can be
 * loaded.
 */
const char *mf_unsupported_of(enum mf_program_kind kind);

/* The unsupported programs of one run; each is reported once. */
struct mf_unsupporteds {
	char **paths;
	size_t n;
	bool more; /* the message saying that further unsupported programs are not listed has been printed */
};

/* Reports @program if heap mode cannot profile it. */
void mf_unsupporteds_say(struct mf_unsupporteds *obstacles, const struct mf_program *program);
/* Reports that heap mode cannot profile @path, a program of @kind. @path need not exist for massif-ctl. */
void mf_unsupporteds_say_path(struct mf_unsupporteds *obstacles, const char *path, enum mf_program_kind kind);
void mf_unsupporteds_deinit(struct mf_unsupporteds *obstacles);

#endif
