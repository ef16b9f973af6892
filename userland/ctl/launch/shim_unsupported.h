/* SPDX-License-Identifier: GPL-2.0 */
/* Programs that heap mode can see nothing of, and what is said of them. */
#ifndef MASSIF_CTL_OBSTACLE_H
#define MASSIF_CTL_OBSTACLE_H

#include <stdbool.h>
#include <stddef.h>

#include "program.h"

/* Why the shim cannot get into such programs, and what to do; NULL: it can. */
const char *mf_unsupported_of(enum mf_program_kind kind);

/* Those that a family of processes has come to, each of which is told of once. */
struct mf_unsupporteds {
	char **paths;
	size_t n;
	bool more; /* it was said that there are more than are named */
};

/* Says that @program cannot be seen, if that is so. */
void mf_unsupporteds_say(struct mf_unsupporteds *obstacles, const struct mf_program *program);
void mf_unsupporteds_deinit(struct mf_unsupporteds *obstacles);

#endif
