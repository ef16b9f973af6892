// SPDX-License-Identifier: GPL-2.0
// Reports programs that heap mode cannot profile.

#include "shim_unsupported.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "ctl/message/message.h"

enum {
	TOLD_MAX = 100, /* maximum number of programs reported by name */
};

static const char *const obstacles_of[] = {
	[MF_PROGRAM_STATIC] = "is statically linked, so heap mode cannot profile it; use --pages-as-heap=yes",
	[MF_PROGRAM_PRIVILEGED] = "gains privileges (set-uid, set-gid or capabilities), so it is not "
				  "profiled; run it as a user who already has them",
	[MF_PROGRAM_MACHINE] = "is for another architecture, so heap mode cannot profile it; use "
			       "--pages-as-heap=yes",
	[MF_PROGRAM_LOADER] = "uses another C library, so heap mode cannot profile it; use --pages-as-heap=yes",
	[MF_PROGRAM_UNKNOWN] = NULL,
};

const char *mf_unsupported_of(enum mf_program_kind kind)
{
	return obstacles_of[kind];
}

/* Prints a message once, saying that further programs that heap mode cannot profile are not listed. */
static void say_more(struct mf_unsupporteds *obstacles)
{
	if (!obstacles->more)
		mf_message_say(MF_MESSAGE_PROBLEM, "further programs that heap mode cannot profile are "
						   "not listed");
	obstacles->more = true;
}

/* Remembers @path. Returns false if @path is already known or cannot be stored. */
static bool is_new(struct mf_unsupporteds *obstacles, const char *path)
{
	char **paths, *copy;

	for (size_t i = 0; i < obstacles->n; i++)
		if (strcmp(obstacles->paths[i], path) == 0)
			return false;
	if (obstacles->n == TOLD_MAX) {
		say_more(obstacles);
		return false;
	}
	paths = reallocarray(obstacles->paths, obstacles->n + 1, sizeof(*paths));
	if (!paths)
		return false;
	obstacles->paths = paths;
	copy = strdup(path);
	if (copy)
		paths[obstacles->n++] = copy;
	return copy;
}

void mf_unsupporteds_say_path(struct mf_unsupporteds *obstacles, const char *path, enum mf_program_kind kind)
{
	const char *words = mf_unsupported_of(kind);

	if (words && is_new(obstacles, path))
		mf_message_say(MF_MESSAGE_PROBLEM, "%s %s", path, words);
}

void mf_unsupporteds_say(struct mf_unsupporteds *obstacles, const struct mf_program *program)
{
	mf_auto_free char *path = NULL;

	if (!mf_unsupported_of(program->kind))
		return;
	path = realpath(program->image ? program->image : program->path, NULL);
	if (path)
		mf_unsupporteds_say_path(obstacles, path, program->kind);
}

void mf_unsupporteds_deinit(struct mf_unsupporteds *obstacles)
{
	while (obstacles->n)
		free(obstacles->paths[--obstacles->n]);
	free(obstacles->paths);
	obstacles->paths = NULL;
}
