/* SPDX-License-Identifier: GPL-2.0 */
/* Prints strings for JSON. */
#ifndef MASSIF_REPORT_JSON_TEXT_H
#define MASSIF_REPORT_JSON_TEXT_H

#include <stdio.h>

/*
 * Prints @text as a JSON string, with its quotation marks; NULL becomes null. Bytes that are not valid UTF-8 are
 * replaced, so that the result always is.
 */
void mf_json_print_text(FILE *out, const char *text);

/* The same, but without characters that mean something in HTML, for JSON inside a script element. */
void mf_json_print_inert(FILE *out, const char *text);

#endif
