/* SPDX-License-Identifier: GPL-2.0 */
/* The data in a page of massif-ctl report, and whether they are those of massif-ctl export --to=json. */
#ifndef MASSIF_SELFTESTS_PAGE_DATA_H
#define MASSIF_SELFTESTS_PAGE_DATA_H

#include <stdbool.h>

/* Returns the data in the page @path, which the caller frees; NULL if it is no page of massif-ctl report. */
char *page_data_of(const char *path);

/* Writes the data in the page @path to the file @to. Returns whether there are any. */
bool page_data_extract(const char *path, const char *to);

/*
 * Returns whether the data in the file @data are those of the export in @json, to the byte: trees, counts and totals of
 * the first process. @is_text: the export is of a massif.out file. If they differ, says how in @difference.
 */
bool page_data_equal_export(const char *data, const char *json, bool is_text, char difference[static 2048]);

#endif
