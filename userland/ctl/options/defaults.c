// SPDX-License-Identifier: GPL-2.0
// Default options from ~/.massifrc, $MASSIF_OPTS and ./.massifrc, in this order.

#include "defaults.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ctl/message/message.h"

#define VARIABLE "MASSIF_OPTS"
#define FILE_NAME ".massifrc"
#define BLANKS	 " \t\n\v\f\r"
#define QUOTES	 "'\""

/*
 * Copies the word at @text to @out. Whitespace between two identical quotation marks is part of the word. The marks
 * themselves, and any quotation marks between them, are dropped. Returns the end of the word.
 */
static const char *copy_word(const char *text, FILE *out)
{
	while (*text && !strchr(BLANKS, *text)) {
		const char *end = strchr(QUOTES, *text) ? strchr(text + 1, *text) : NULL;

		if (end) {
			for (text++; text < end; text++)
				if (!strchr(QUOTES, *text))
					fputc(*text, out);
			text++;
		} else if (strchr(QUOTES, *text)) {
			text++;
		} else {
			fputc(*text++, out);
		}
	}
	return text;
}

/* The source of default options: a file or the environment variable. */
struct source {
	const char *name;
	/* true if the text comes from a file; comments in it are then skipped, and lines are counted for messages */
	bool is_file;
	unsigned int line;
};

/* Appends a word. On success, takes ownership of @word. */
static int add_word(struct mf_defaults *defaults, char *word, const struct source *source)
{
	struct mf_default *more = reallocarray(defaults->items, defaults->count + 1, sizeof(*more));
	char *origin;
	int length;

	if (!more)
		return -ENOMEM;
	defaults->items = more;
	length = source->is_file ? asprintf(&origin, "%s, line %u", source->name, source->line) :
				   asprintf(&origin, "%s", source->name);
	if (length < 0)
		return -ENOMEM;
	more[defaults->count++] = (struct mf_default){ .word = word, .origin = origin };
	return 0;
}

static unsigned int count_lines(const char *from, const char *to)
{
	unsigned int n = 0;

	for (; from < to; from++)
		n += *from == '\n';
	return n;
}

/* Skips whitespace and, in a file, comments. */
static const char *next_word(const char *text, const struct source *source)
{
	text += strspn(text, BLANKS);
	while (source->is_file && *text == '#') {
		text += strcspn(text, "\n");
		text += strspn(text, BLANKS);
	}
	return text;
}

static int add_words(struct mf_defaults *defaults, const char *text, struct source source)
{
	const char *at = next_word(text, &source), *counted = text;

	while (*at) {
		mf_auto_free char *word = NULL;
		size_t size;
		FILE *out = open_memstream(&word, &size);

		if (!out)
			return -ENOMEM;
		source.line += count_lines(counted, at);
		counted = at;
		at = copy_word(at, out);
		if (fclose(out) || add_word(defaults, word, &source))
			return -ENOMEM;
		word = NULL;
		at = next_word(at, &source);
	}
	return 0;
}

/* Returns everything that can be read from @fd. The caller frees it; NULL if reading fails. */
static char *read_all(int fd)
{
	mf_auto_free char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	char buffer[4096];
	ssize_t n;

	if (!out)
		return NULL;
	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		fwrite(buffer, 1, (size_t)n, out);
	if (fclose(out) || n < 0)
		return NULL;
	return mf_take(text, NULL);
}

/*
 * Returns whether a file of default options may be used. The options determine where massif-ctl writes, so the file
 * must belong to this user and must not be world-writable.
 */
static bool is_trusted(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & S_IWOTH);
}

static int add_refused(struct mf_defaults *defaults, const char *path)
{
	size_t n = 0;

	while (defaults->refused[n])
		n++;
	defaults->refused[n] = strdup(path);
	return defaults->refused[n] ? 0 : -ENOMEM;
}

static int add_file(struct mf_defaults *defaults, const char *directory)
{
	mf_auto_free char *path = NULL, *text = NULL;
	mf_auto_close int fd = -1;

	if (asprintf(&path, "%s/" FILE_NAME, directory) < 0)
		return -ENOMEM;
	/* Open without blocking, because the path might be a FIFO without a writer. */
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (!is_trusted(fd))
		return add_refused(defaults, path);
	text = read_all(fd);
	return text ? add_words(defaults, text, (struct source){ path, true, 1 }) : 0;
}

static bool is_here(const char *directory)
{
	struct stat there, here;

	return stat(directory, &there) == 0 && stat(".", &here) == 0 &&
	       there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

static int add_all(struct mf_defaults *defaults)
{
	const char *home = getenv("HOME"), *variable = getenv(VARIABLE);
	int ret = 0;

	if (home && !*home)
		home = NULL;
	if (home)
		ret = add_file(defaults, home);
	if (!ret && variable)
		ret = add_words(defaults, variable, (struct source){ VARIABLE, false, 1 });
	if (!ret && !(home && is_here(home)))
		ret = add_file(defaults, ".");
	return ret;
}

int mf_defaults_read(struct mf_defaults *defaults, struct mf_error *err)
{
	int ret;

	*defaults = (struct mf_defaults){ 0 };
	ret = add_all(defaults);
	if (!ret)
		return 0;
	mf_defaults_free(defaults);
	return mf_error_set(err, ret, "out of memory");
}

void mf_defaults_free(struct mf_defaults *defaults)
{
	for (size_t i = 0; i < defaults->count; i++) {
		free(defaults->items[i].word);
		free(defaults->items[i].origin);
	}
	free(defaults->items);
	for (size_t i = 0; i < MF_DEFAULTS_FILES; i++)
		free(defaults->refused[i]);
	*defaults = (struct mf_defaults){ 0 };
}

void mf_defaults_say_refused(const struct mf_defaults *defaults)
{
	for (size_t i = 0; i < MF_DEFAULTS_FILES && defaults->refused[i]; i++)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "%s was not read: it is not a regular file, belongs to another user, or is "
			       "writable by everybody",
			       defaults->refused[i]);
}
