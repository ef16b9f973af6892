/* SPDX-License-Identifier: GPL-2.0 */
/* Validates UTF-8. */
#ifndef MASSIF_BASE_UTF8_H
#define MASSIF_BASE_UTF8_H

#include <stddef.h>

/*
 * Returns the length of the UTF-8 sequence at @text, which ends with a NUL, or 0 if there is no valid one. The terminating
 * NUL is a sequence of its own.
 */
size_t mf_utf8_length(const unsigned char *text);

#endif
