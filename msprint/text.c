// SPDX-License-Identifier: GPL-2.0
// Growing byte strings.

#include "text.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

void mf_text_deinit(struct mf_text *text)
{
	free(text->data);
	*text = (struct mf_text){};
}

void mf_text_append(struct mf_text *text, const void *bytes, size_t len)
{
	if (!len)
		return;
	mf_memory_grow((void **)&text->data, &text->room, text->len + len, 1);
	memcpy(text->data + text->len, bytes, len);
	text->len += len;
}

void mf_text_append_string(struct mf_text *text, const char *string)
{
	mf_text_append(text, string, strlen(string));
}

void mf_text_set(struct mf_text *text, const void *bytes, size_t len)
{
	text->len = 0;
	mf_text_append(text, bytes, len);
}

bool mf_text_equals(const struct mf_text *text, const char *string)
{
	return text->len == strlen(string) && !memcmp(text->data ?: "", string, text->len);
}

bool mf_text_contains(const struct mf_text *text, const char *string)
{
	return text->len && memmem(text->data, text->len, string, strlen(string));
}
