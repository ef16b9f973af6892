// SPDX-License-Identifier: GPL-2.0
// The options of each command of massif-ctl and their values, as shells complete them.

#include "candidates.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/options/option_table.h"
#include "ctl/query/query.h"
#include "report/writers.h"

/* Returns whether people type @word as it stands: "peak" and "ms", but not "N" or "FILE", which stand for something. */
static bool is_literal(const char *word, size_t length)
{
	if (length == 1)
		return isalpha((unsigned char)*word) && *word != 'N' && *word != 'S';
	for (size_t i = 0; i < length; i++)
		if (!islower((unsigned char)word[i]) && word[i] != '-')
			return false;
	return length > 1;
}

static bool has_word(const char *words, const char *word, size_t length)
{
	for (; *words; words += strspn(words, " ")) {
		size_t n = strcspn(words, " ");

		if (n == length && !strncmp(words, word, n))
			return true;
		words += n;
	}
	return false;
}

/* Appends the first @length bytes of @word to the list of words, if it is not in it, there is room, and they are literal. */
static void add_word(struct mf_candidate *candidate, const char *word, size_t length)
{
	size_t used = strlen(candidate->words);

	if (!is_literal(word, length) || used + length + 2 > sizeof(candidate->words) ||
	    has_word(candidate->words, word, length))
		return;
	if (used)
		candidate->words[used++] = ' ';
	memcpy(candidate->words + used, word, length);
	candidate->words[used + length] = '\0';
	candidate->value = MF_CANDIDATE_WORDS;
}

static bool is(const char *text, size_t length, const char *what)
{
	return strlen(what) == length && !strncmp(text, what, length);
}

/* Finds out from @text, such as "peak|end|N" or "FILE", which values the option takes. */
static void read_values(struct mf_candidate *candidate, const char *text)
{
	size_t all = strcspn(text, " ,;)]\n"), length;

	if (is(text, all, "file") || is(text, all, "FILE"))
		candidate->value = MF_CANDIDATE_FILE;
	else if (is(text, all, "DIR"))
		candidate->value = MF_CANDIDATE_DIRECTORY;
	if (!memchr(text, '|', all))
		return;
	for (const char *end = text + all; text < end; text += length + 1) {
		length = strcspn(text, "| ,;)]\n");
		add_word(candidate, text, length);
	}
}

/*
 * Finds where @text names the option with a value: "--by=site|function", "--lifetimes[=bytes|allocations]", "-o FILE". Returns
 * the value, or NULL.
 */
static const char *find_value(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (; text && (text = strstr(text, name)); text += length) {
		if (text[length] == '=' || (text[length] == ' ' && isupper((unsigned char)text[length + 1])))
			return text + length + 1;
		if (strncmp(text + length, "[=", 2) == 0)
			return text + length + 2;
	}
	return NULL;
}

/* The formats of export have lines of their own in its --help. */
static void add_formats(struct mf_candidate *candidate)
{
	for (size_t i = 0; i < MF_FORMATS; i++)
		if (mf_writers[i].meaning)
			add_word(candidate, mf_writers[i].name, strlen(mf_writers[i].name));
}

static bool is_listed(const struct mf_candidates *candidates, const char *name)
{
	for (size_t i = 0; i < candidates->n; i++)
		if (strcmp(candidates->options[i].name, name) == 0)
			return true;
	return false;
}

/* Adds an option that is not listed yet. Returns NULL if out of memory. */
static struct mf_candidate *add(struct mf_candidates *candidates, const char *name)
{
	if (candidates->n == candidates->room) {
		size_t room = candidates->room ? 2 * candidates->room : 64;
		struct mf_candidate *more = reallocarray(candidates->options, room, sizeof(*more));

		if (!more)
			return NULL;
		candidates->options = more;
		candidates->room = room;
	}
	candidates->options[candidates->n] = (struct mf_candidate){ .name = name };
	return &candidates->options[candidates->n++];
}

static int add_profiling_options(struct mf_candidates *candidates)
{
	for (size_t i = 0; i < mf_option_table_size; i++) {
		const struct mf_option *option = &mf_option_table[i];
		struct mf_candidate *candidate;

		if (is_listed(candidates, option->name))
			continue;
		candidate = add(candidates, option->name);
		if (!candidate)
			return -ENOMEM;
		candidate->meaning = option->meaning;
		if (!option->values)
			continue;
		candidate->value = MF_CANDIDATE_OTHER;
		read_values(candidate, option->values);
	}
	return 0;
}

static int add_own_option(struct mf_candidates *candidates, const struct mf_command *command, const char *name)
{
	struct mf_candidate *candidate = add(candidates, name);
	const char *value;

	if (!candidate)
		return -ENOMEM;
	if (mf_query_is_bare(name) || strcmp(name, "--once") == 0)
		return 0;
	candidate->is_optional = mf_query_is_optional(name);
	candidate->value = strcmp(name, "--output") == 0 ? MF_CANDIDATE_FILE : MF_CANDIDATE_OTHER;
	if (strcmp(name, "--to") == 0)
		add_formats(candidate);
	value = find_value(command->details, name) ?: find_value(command->usage, name);
	if (value && candidate->value == MF_CANDIDATE_OTHER)
		read_values(candidate, value);
	/* Further values may be named elsewhere in the text. */
	while (candidate->value == MF_CANDIDATE_WORDS && (value = find_value(value, name)))
		read_values(candidate, value);
	return 0;
}

int mf_candidates_of(const struct mf_command *command, struct mf_candidates *candidates)
{
	struct mf_candidate *help;
	int code = 0;

	candidates->n = 0;
	for (const char *const *word = command->words; word && *word && !code; word++)
		code = add_own_option(candidates, command, *word);
	if (!code && command->has_options)
		code = add_profiling_options(candidates);
	if (code || is_listed(candidates, "--help"))
		return code;
	help = add(candidates, "--help");
	if (!help)
		return -ENOMEM;
	help->meaning = "print the command's help";
	return 0;
}

void mf_candidates_deinit(struct mf_candidates *candidates)
{
	free(candidates->options);
	*candidates = (struct mf_candidates){ 0 };
}

bool mf_candidates_takes_program(const struct mf_command *command)
{
	return command->run == mf_command_run || command->run == mf_command_record;
}
