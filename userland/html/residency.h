/* SPDX-License-Identifier: GPL-2.0 */
/* The samples of the resident set of one process in a page; data.h has their format. */
#ifndef MASSIF_HTML_RESIDENCY_H
#define MASSIF_HTML_RESIDENCY_H

#include <stdio.h>

#include "base/error.h"
#include "html/process.h"

/* Prints the samples of the process, which has some. For mf_html_process_print(). Returns 0, or -errno with a message. */
int mf_html_residency_print(struct mf_html_process *process, FILE *out, struct mf_html_calls *calls, struct mf_error *err);

#endif
