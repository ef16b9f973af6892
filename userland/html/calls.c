// SPDX-License-Identifier: GPL-2.0
// The distinct calls of all stacks in a page, and their texts.

#include "html/calls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "report/json_text.h"
#include "report/standard.h"

static bool add_text(struct mf_html_texts *texts, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = mf_arena_alloc(&texts->arena, size);

	if (!copy)
		return false;
	if (texts->count == texts->room) {
		size_t room = texts->room ? texts->room * 2 : 256;
		const char **list = reallocarray(texts->list, room, sizeof(*list));

		if (!list)
			return false;
		texts->list = list;
		texts->room = room;
	}
	memcpy(copy, text, size);
	texts->list[texts->count++] = copy;
	return true;
}

uint32_t mf_html_texts_number(struct mf_html_texts *texts, const char *text)
{
	uint64_t hash = mf_hash_text(text, 0);

	/* Different texts with the same hash are told apart by the second key. */
	for (uint32_t i = 0;; i++) {
		uint32_t *number = mf_index_put(&texts->index, hash, i, (uint32_t)texts->count);

		if (!number)
			return UINT32_MAX;
		if (*number == texts->count)
			return add_text(texts, text) ? (uint32_t)texts->count - 1 : UINT32_MAX;
		if (strcmp(texts->list[*number], text) == 0)
			return *number;
	}
}

static void texts_deinit(struct mf_html_texts *texts)
{
	free(texts->list);
	mf_index_deinit(&texts->index);
	mf_arena_deinit(&texts->arena);
}

/* Returns the number of @text, cut if it is too long. NULL is the empty text. */
static uint32_t number_text(struct mf_html_calls *calls, const char *text)
{
	size_t length = text ? strlen(text) : 0, kept = MF_HTML_NAME_MAX;
	char rest[64];

	if (!length)
		return mf_html_texts_number(&calls->texts, "");
	if (length <= MF_HTML_NAME_MAX)
		return mf_html_texts_number(&calls->texts, text);
	/* Not inside a character. */
	while (kept && ((unsigned char)text[kept] & 0xc0) == 0x80)
		kept--;
	snprintf(rest, sizeof(rest), "... (%zu more bytes)", length - kept);
	calls->text.size = 0;
	mf_bytes_add(&calls->text, text, kept);
	mf_bytes_add(&calls->text, rest, strlen(rest) + 1);
	return calls->text.failed ? UINT32_MAX : mf_html_texts_number(&calls->texts, (const char *)calls->text.data);
}

static enum mf_html_call_kind kind_of(const struct mf_location *location)
{
	if (location->note)
		return MF_HTML_CALL_NOTE;
	if (mf_standard_has(location))
		return MF_HTML_CALL_STANDARD;
	return mf_standard_is_c(location) ? MF_HTML_CALL_C : MF_HTML_CALL_PLAIN;
}

uint32_t mf_html_calls_number(struct mf_html_calls *calls, const struct mf_call *call,
			      const struct mf_report_options *options)
{
	const struct mf_location *location = call->location;
	char address[32], key[64];
	struct mf_html_call new = { .line = location->file ? location->line : 0, .kind = kind_of(location) };
	uint32_t number;

	/* The empty text is number 0. */
	if (mf_html_texts_number(&calls->texts, "") == UINT32_MAX)
		return UINT32_MAX;
	new.function = number_text(calls, mf_call_name(call, options, address));
	new.file = number_text(calls, location->file);
	new.object = number_text(calls, location->object);
	if (new.function == UINT32_MAX || new.file == UINT32_MAX || new.object == UINT32_MAX)
		return UINT32_MAX;
	snprintf(key, sizeof(key), "%" PRIx32 " %" PRIx32 " %" PRIx32 " %" PRIx32 " %d", new.function, new.file, new.object,
		 new.line, (int)new.kind);
	number = mf_html_texts_number(&calls->keys, key);
	if (number == UINT32_MAX)
		return UINT32_MAX;
	if (number >= calls->room) {
		size_t room = calls->room ? calls->room * 2 : 256;
		struct mf_html_call *list = reallocarray(calls->list, room, sizeof(*list));

		if (!list)
			return UINT32_MAX;
		memset(list + calls->room, 0, (room - calls->room) * sizeof(*list));
		calls->list = list;
		calls->room = room;
	}
	calls->list[number] = new;
	return number;
}

uint32_t mf_html_calls_use(struct mf_html_calls *calls, uint32_t number)
{
	if (!calls->list[number].printed)
		calls->list[number].printed = ++calls->n_printed;
	return calls->list[number].printed - 1;
}

void mf_html_calls_restart(struct mf_html_calls *calls)
{
	calls->n_printed = 0;
	for (size_t i = 0; i < calls->keys.count; i++)
		calls->list[i].printed = 0;
}

/* Prints the number in the page of text @number, which gets one if it has none. */
static void print_text_number(FILE *out, uint32_t number, uint32_t *numbers, uint32_t *order, uint32_t *n)
{
	if (!numbers[number]) {
		order[(*n)++] = number;
		numbers[number] = *n;
	}
	fprintf(out, "%" PRIu32 ",", numbers[number] - 1);
}

int mf_html_calls_print(const struct mf_html_calls *calls, FILE *out, struct mf_error *err)
{
	mf_auto_free uint32_t *numbers = calloc(calls->texts.count + 1, sizeof(*numbers));
	mf_auto_free uint32_t *order = calloc(calls->texts.count + 1, sizeof(*order));
	mf_auto_free uint32_t *in_page = calloc(calls->keys.count + 1, sizeof(*in_page));
	uint32_t n_texts = 0, n = calls->n_printed;

	if (!numbers || !order || !in_page)
		return mf_error_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < calls->keys.count; i++)
		if (calls->list[i].printed)
			in_page[calls->list[i].printed - 1] = i;
	/* Function, file, library, line and kind of each call. */
	fputs(",\n\"calls\":[", out);
	for (uint32_t i = 0; i < n; i++) {
		const struct mf_html_call *call = &calls->list[in_page[i]];

		print_text_number(out, call->function, numbers, order, &n_texts);
		print_text_number(out, call->file, numbers, order, &n_texts);
		print_text_number(out, call->object, numbers, order, &n_texts);
		fprintf(out, "%" PRIu32 ",%d%s", call->line, (int)call->kind, i + 1 < n ? "," : "");
	}
	fputs("],\n\"strings\":[", out);
	for (uint32_t i = 0; i < n_texts; i++) {
		fputs(i ? ",\n" : "\n", out);
		mf_json_print_inert(out, calls->texts.list[order[i]]);
	}
	putc(']', out);
	return 0;
}

void mf_html_calls_deinit(struct mf_html_calls *calls)
{
	texts_deinit(&calls->texts);
	texts_deinit(&calls->keys);
	free(calls->list);
	mf_bytes_deinit(&calls->text);
}
