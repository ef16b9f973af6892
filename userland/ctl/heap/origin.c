// SPDX-License-Identifier: GPL-2.0
// Stores in a session how its profile was started, so that massif-ctl rescue can continue it.

#include "origin.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ctl/launch/pidproc.h"

/* Format of the region that stores the origin: @bytes bytes of text, made up of @n_words NUL-terminated words. */
struct note {
	uint32_t bytes, n_words;
	char text[];
};

enum {
	WORD_DIRECTORY,
	WORD_ADDRESS,
	WORD_CMD,
	/*
	 * number of words in struct note that precede massif-ctl's options: the directory, the socket address and the
	 * command line
	 */
	WORDS,
};

/* Appends @word to @note, whose text may have at most @room bytes. Returns false if @word does not fit. */
static bool add(struct note *note, size_t room, const char *word)
{
	size_t length = strlen(word) + 1;

	if (length > room - note->bytes)
		return false;
	memcpy(note->text + note->bytes, word, length);
	note->bytes += (uint32_t)length;
	note->n_words++;
	return true;
}

void mf_origin_note(struct mf_store *store, const struct mf_options *options, const char *cmd,
		    const char *address)
{
	size_t size = store->sizes[MF_REGION_ORIGIN], room = size - sizeof(struct note);
	/* The program may be able to change what is in the store, so the note is made elsewhere. */
	mf_auto_free struct note *note = calloc(1, size);
	mf_auto_free char *directory = getcwd(NULL, 0);
	bool fits = note;

	fits = fits && add(note, room, directory && *directory == '/' ? directory : "") &&
	       add(note, room, address ? address : "") && add(note, room, cmd);
	for (size_t i = 0; fits && i < options->n_words; i++)
		fits = add(note, room, options->words[i]);
	memset(store->regions[MF_REGION_ORIGIN], 0, sizeof(*note));
	if (fits)
		memcpy(store->regions[MF_REGION_ORIGIN], note, sizeof(*note) + note->bytes);
}

int mf_origin_read(const struct mf_store *store, struct mf_origin *origin)
{
	const struct note *note = store->regions[MF_REGION_ORIGIN];
	size_t room = store->sizes[MF_REGION_ORIGIN] - sizeof(*note), bytes = note->bytes;
	size_t n_words = note->n_words, n = 0;
	char *at, *end;

	*origin = (struct mf_origin){ 0 };
	if (!bytes || bytes > room || n_words < WORDS || n_words > bytes)
		return -ENOENT;
	origin->text = malloc(bytes + 1);
	origin->options = calloc(n_words + 1, sizeof(*origin->options));
	if (!origin->text || !origin->options) {
		mf_origin_free(origin);
		return -ENOMEM;
	}
	memcpy(origin->text, note->text, bytes);
	origin->text[bytes] = '\0';
	end = origin->text + bytes;
	for (at = origin->text; at < end && n < n_words; at += strlen(at) + 1)
		origin->options[n++] = at;
	if (n < WORDS) {
		mf_origin_free(origin);
		return -ENOENT;
	}
	origin->directory = origin->options[WORD_DIRECTORY];
	origin->address = origin->options[WORD_ADDRESS];
	origin->cmd = origin->options[WORD_CMD];
	origin->n_options = n - WORDS;
	memmove(origin->options, origin->options + WORDS, (origin->n_options + 1) * sizeof(char *));
	return 0;
}

void mf_origin_free(struct mf_origin *origin)
{
	free(origin->text);
	free(origin->options);
	*origin = (struct mf_origin){ 0 };
}

void mf_origin_claim(struct mf_store *store)
{
	static pid_t pid;
	static uint64_t start;

	/* Get the aggregator's start time once per run rather than for each process, because it is read from /proc. */
	if (pid != getpid()) {
		pid = getpid();
		start = mf_pidproc_start_time(pid);
	}
	store->header->aggregator_start = start;
	__atomic_store_n(&store->header->aggregator, pid, __ATOMIC_RELEASE);
}

pid_t mf_origin_aggregator(const struct mf_store *store)
{
	pid_t pid = __atomic_load_n(&store->header->aggregator, __ATOMIC_ACQUIRE);

	if (pid <= 0 || mf_pidproc_start_time(pid) != store->header->aggregator_start)
		return 0;
	return pid;
}
