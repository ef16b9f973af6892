/* SPDX-License-Identifier: GPL-2.0 */
/* Which code touched the pages of a sample first, in a page; data.h has the format. */
#ifndef MASSIF_HTML_TOUCHES_H
#define MASSIF_HTML_TOUCHES_H

#include <stdio.h>

#include "base/error.h"
#include "html/process.h"
#include "profile/residency.h"

/* Finds the site of each stack that touched pages first, if that was recorded. Returns 0, or -errno with a message. */
int mf_html_touches_read(struct mf_html_process *process, struct mf_html_calls *calls, struct mf_error *err);

/* Prints those of @detail as a member of an object. Returns 0 or -ENOMEM. */
int mf_html_touches_print(const struct mf_html_process *process, FILE *out, const struct mf_residency_detail *detail,
			  struct mf_html_calls *calls, struct mf_error *err);

#endif
