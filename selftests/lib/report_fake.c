// SPDX-License-Identifier: GPL-2.0
// Stacks written as text, and a symbolizer for them.

#include "selftests/lib/report_fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 1000
#define INLINES_MAX 8

static struct word {
	char *text;
	char *functions[INLINES_MAX];
	struct mf_location locations[INLINES_MAX];
	size_t count;
} words[WORDS_MAX];
static size_t n_words;

size_t fake_functions_asked, fake_positions_asked;

const struct mf_object fake_objects[FAKE_OBJECTS] = {
	{ .kind = MF_OBJECT_UNKNOWN },
	{ .kind = MF_OBJECT_FILE, .path = "/bin/fake" },
};

void fake_reset(void)
{
	for (size_t i = 0; i < n_words; i++) {
		free(words[i].text);
		for (size_t k = 0; k < words[i].count; k++)
			free(words[i].functions[k]);
	}
	memset(words, 0, sizeof(words));
	n_words = 0;
	fake_functions_asked = fake_positions_asked = 0;
}

static void split(struct word *word)
{
	const char *at = word->text;

	for (;;) {
		size_t length = strcspn(at, "/");
		struct mf_location *location = &word->locations[word->count];

		word->functions[word->count] = strndup(at, length);
		*location = (struct mf_location){ .object = fake_objects[1].path };
		if (strcmp(word->functions[word->count], "?") != 0)
			location->function = word->functions[word->count];
		word->count++;
		if (!at[length] || word->count == INLINES_MAX)
			return;
		at += length + 1;
	}
}

/*
 * Returns the fake code address that stands for a frame with this text. A text that has not been used before gets a new
 * address.
 */
static uint64_t intern(const char *text, size_t length)
{
	for (size_t i = 0; i < n_words; i++) {
		if (strlen(words[i].text) == length && memcmp(words[i].text, text, length) == 0)
			return (i + 1) * 16;
	}
	if (n_words == WORDS_MAX)
		abort();
	words[n_words].text = strndup(text, length);
	split(&words[n_words]);
	return ++n_words * 16;
}

size_t fake_stack(const char *text, struct mf_frame frames[FAKE_FRAMES_MAX])
{
	size_t count = 0;

	while (*text && count < FAKE_FRAMES_MAX) {
		size_t length = strcspn(text, "|");

		frames[count++] = (struct mf_frame){ intern(text, length), 1 };
		text += length + (text[length] == '|');
	}
	return count;
}

static const struct word *word_of(struct mf_frame frame)
{
	size_t number = frame.pc / 16;

	return frame.object == 1 && number >= 1 && number <= n_words ? &words[number - 1] : NULL;
}

char *fake_words(const struct mf_frame *frames, size_t count)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; i < count; i++)
		fprintf(out, "%s%s", i ? "|" : "", word_of(frames[i])->text);
	fclose(out);
	return text;
}

int mf_symbolizer_create(const struct mf_object *objects, size_t n_objects,
			 const struct mf_symbolizer_options *options,
			 struct mf_symbolizer **symbolizer, struct mf_error *err)
{
	*symbolizer = NULL;
	return 0;
}

void mf_symbolizer_destroy(struct mf_symbolizer *symbolizer)
{
}

const char *mf_symbolizer_function(struct mf_symbolizer *symbolizer, struct mf_frame frame)
{
	const struct word *word = word_of(frame);

	fake_functions_asked++;
	return word ? word->locations[word->count - 1].function : NULL;
}

void mf_symbolizer_expect(struct mf_symbolizer *symbolizer, struct mf_frame frame)
{
}

void mf_symbolizer_want(struct mf_symbolizer *symbolizer, struct mf_frame frame)
{
}

void mf_symbolizer_prepare(struct mf_symbolizer *symbolizer)
{
}

size_t mf_symbolizer_resolve(struct mf_symbolizer *symbolizer, struct mf_frame frame,
			     const struct mf_location **locations)
{
	static const struct mf_location unknown;
	const struct word *word = word_of(frame);

	fake_positions_asked++;
	*locations = word ? word->locations : &unknown;
	return word ? word->count : 1;
}
