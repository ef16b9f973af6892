/* SPDX-License-Identifier: GPL-2.0 */
/* Writes a page: one HTML file that shows profiles in a browser, and needs nothing else. */
#ifndef MASSIF_HTML_PAGE_H
#define MASSIF_HTML_PAGE_H

#include <stdio.h>

#include "base/error.h"
#include "html/data.h"

/* The size of a page, unless it has very many processes or names that are very long. */
#define MF_HTML_PAGE_MAX 3000000u

/*
 * Writes a page to @out and flushes it. The page is complete only if 0 is returned; otherwise -ENOMEM, or the -errno of
 * the write that failed.
 */
int mf_html_page_write(FILE *out, const struct mf_html_source *source, struct mf_error *err);

#endif
