/* SPDX-License-Identifier: GPL-2.0 */
/* Suppressions: stacks whose blocks, although held at the end, are no leaks to report. */
#ifndef MASSIF_CTL_SUPPRESSIONS_H
#define MASSIF_CTL_SUPPRESSIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "report/moment.h"

struct mf_suppression;

/* Zero-initialise it. */
struct mf_suppressions {
	struct mf_suppression *list;
	size_t count, room;
};

/*
 * Adds the suppressions in the file @path. It can contain lines of LeakSanitizer (leak:PATTERN) and blocks of Valgrind's
 * Memcheck of kind Leak. Returns 0, or -errno with a message that names the line.
 */
int mf_suppressions_read(struct mf_suppressions *suppressions, const char *path, struct mf_error *err);

/* Like mf_suppressions_read(), but reads @text, which messages call @name. */
int mf_suppressions_read_text(struct mf_suppressions *suppressions, const char *text, const char *name,
			      struct mf_error *err);

/* Returns whether a suppression matches @stack. */
bool mf_suppressions_match(const struct mf_suppressions *suppressions, const struct mf_moment_stack *stack);

void mf_suppressions_deinit(struct mf_suppressions *suppressions);

#endif
