/* SPDX-License-Identifier: GPL-2.0 */
/* Growable byte strings with an explicit length. Input lines may contain any byte, including NUL. */
#ifndef MASSIF_MSPRINT_TEXT_H
#define MASSIF_MSPRINT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* An all-zero structure is the empty string. @data is not NUL-terminated; it is NULL until something is appended. */
struct mf_text {
	char *data;
	size_t len;	/* length of the string in bytes */
	size_t room;	/* size of the memory at @data in bytes */
};

#define MF_TEXT_AUTO __attribute__((cleanup(mf_text_deinit))) struct mf_text

void mf_text_deinit(struct mf_text *text);

/* Appends @len bytes. */
void mf_text_append(struct mf_text *text, const void *bytes, size_t len);

/* Appends a C string. */
void mf_text_append_string(struct mf_text *text, const char *string);

/* Replaces the text with the @len bytes at @bytes. */
void mf_text_set(struct mf_text *text, const void *bytes, size_t len);

bool mf_text_equals(const struct mf_text *text, const char *string);
bool mf_text_contains(const struct mf_text *text, const char *string);

#endif
