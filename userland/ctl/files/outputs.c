// SPDX-License-Identifier: GPL-2.0
// The output files of a run.
//
// A name is identified by the device and inode of its directory and by its last component, so different spellings of
// the same name are equal. A symbolic link is identified by its own name, not by its target's, because links are
// replaced rather than followed.

#include "outputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "ctl/message/message.h"

/* A file name that this run has used or reserved for one of its files. */
struct claim {
	dev_t device; /* device and inode of the directory */
	ino_t inode;
	char *base; /* last component of the name; owned */
	pid_t pid;
	enum mf_output_kind kind;
	bool written;
};

struct mf_outputs {
	struct claim *claims;
	size_t n_claims, room;
	bool lost;
	void (*written)(void *data, pid_t pid, const char *name); /* whom to tell about files; may be NULL */
	void *written_data;
};

static const struct {
	const char *what;   /* description of the file's contents */
	const char *option; /* the option that gives the file's name */
} kinds[MF_OUTPUT_KINDS] = {
	[MF_OUTPUT_PROFILE] = { "the profile", "--massif-out-file" },
	[MF_OUTPUT_XTREE] = { "the execution tree", "--xtree-memory-file" },
	[MF_OUTPUT_LOG] = { "the log", "--log-file" },
	[MF_OUTPUT_RECORDING] = { "the recording", "--record" },
};

struct mf_outputs *mf_outputs_create(void)
{
	return calloc(1, sizeof(struct mf_outputs));
}

void mf_outputs_destroy(struct mf_outputs *outputs)
{
	if (!outputs)
		return;
	for (size_t i = 0; i < outputs->n_claims; i++)
		free(outputs->claims[i].base);
	free(outputs->claims);
	free(outputs);
}

/*
 * Sets the device, inode and base of @claim from @path; base then points into the string @path. Returns false if @path
 * is a special file or if its directory cannot be examined.
 */
static bool locate(const char *path, struct claim *claim)
{
	const char *slash = strrchr(path, '/');
	mf_auto_free char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	struct stat status;

	/* Special files are written to and never replaced. */
	if (!directory || mf_outfile_is_special(path) || stat(directory, &status))
		return false;
	claim->device = status.st_dev;
	claim->inode = status.st_ino;
	claim->base = (char *)(slash ? slash + 1 : path);
	return true;
}

static struct claim *find(struct mf_outputs *outputs, const struct claim *wanted)
{
	for (size_t i = 0; i < outputs->n_claims; i++) {
		struct claim *claim = &outputs->claims[i];

		if (claim->device == wanted->device && claim->inode == wanted->inode &&
		    strcmp(claim->base, wanted->base) == 0)
			return claim;
	}
	return NULL;
}

static struct claim *add(struct mf_outputs *outputs, const struct claim *wanted)
{
	struct claim *claims = outputs->claims;
	char *base;

	if (outputs->n_claims == outputs->room) {
		size_t room = outputs->room ? outputs->room * 2 : 16;

		claims = reallocarray(claims, room, sizeof(*claims));
		if (!claims)
			return NULL;
		outputs->claims = claims;
		outputs->room = room;
	}
	base = strdup(wanted->base);
	if (!base)
		return NULL;
	claims[outputs->n_claims] = *wanted;
	claims[outputs->n_claims].base = base;
	return &claims[outputs->n_claims++];
}

void mf_outputs_reserve(struct mf_outputs *outputs, enum mf_output_kind kind, const char *path,
			pid_t pid)
{
	struct claim claim = { .pid = pid, .kind = kind };

	if (locate(path, &claim) && !find(outputs, &claim))
		add(outputs, &claim);
}

/*
 * Returns whether the file name in @claim is reserved for process @pid's output file of kind @kind and the file has not
 * been written yet. If it has been written, the claim belongs to an earlier process with the same pid.
 */
static bool is_own(const struct claim *claim, enum mf_output_kind kind, pid_t pid)
{
	return !claim->written && claim->kind == kind && claim->pid == pid;
}

/* Returns the @n-th alternative to @path (@n starts at 1); NULL if out of memory. */
static char *alternative(const char *path, pid_t pid, unsigned int n)
{
	char *name;
	int length = n == 1 ? asprintf(&name, "%s.%d", path, (int)pid) :
			      asprintf(&name, "%s.%d.%u", path, (int)pid, n);

	return length < 0 ? NULL : name;
}

/*
 * Reports that @path is already taken by the output file @taken, so the output file of kind @kind for process @pid is
 * written to @name instead.
 */
static void say_taken(const char *path, const struct claim *taken, enum mf_output_kind kind, pid_t pid,
		      const char *name)
{
	char advice[128];

	if (taken->kind == kind)
		snprintf(advice, sizeof(advice), "use %%p in %s to give each process its own file",
			 kinds[kind].option);
	else
		snprintf(advice, sizeof(advice), "%s and %s name the same file",
			 kinds[taken->kind].option, kinds[kind].option);
	mf_message_say(MF_MESSAGE_PROBLEM,
		       "'%s' %s %s of %sprocess %d; %s of process %d goes to '%s' (%s)", path,
		       taken->written ? "has" : "is reserved for", kinds[taken->kind].what,
		       taken->kind == kind && taken->pid == pid ? "an earlier " : "", (int)taken->pid,
		       kinds[kind].what, (int)pid, name, advice);
}

/*
 * Chooses the name for process @pid's file of kind @kind: @path, or an alternative if another file of this run is named
 * @path. Sets *@claim to the entry of the chosen name, or to NULL if there is none. Special files have no entry,
 * because they are never replaced. Returns NULL if out of memory.
 */
static char *choose(struct mf_outputs *outputs, enum mf_output_kind kind, const char *path, pid_t pid,
		    struct claim **claim)
{
	char *name = strdup(path);
	struct claim first = { 0 };
	bool taken = false;

	*claim = NULL;
	for (unsigned int n = 1; name; n++) {
		struct claim wanted = { .pid = pid, .kind = kind }, *found;

		if (!locate(name, &wanted))
			break;
		found = find(outputs, &wanted);
		if (!found || is_own(found, kind, pid)) {
			*claim = found ? found : add(outputs, &wanted);
			break;
		}
		if (!taken)
			first = *found;
		taken = true;
		free(name);
		name = alternative(path, pid, n);
	}
	if (name && taken)
		say_taken(path, &first, kind, pid, name);
	return name;
}

int mf_outputs_write(struct mf_outputs *outputs, enum mf_output_kind kind, const char *path, pid_t pid,
		     const struct mf_outfile_source *source, char **name, struct mf_error *err)
{
	struct claim *claim;
	mf_auto_free char *chosen = choose(outputs, kind, path, pid, &claim);
	char *saved = NULL;
	int code;

	if (chosen)
		code = mf_outfile_write(chosen, source, &saved, err);
	else
		code = mf_error_set(err, -ENOMEM, "cannot write '%.600s': out of memory", path);
	if (code) {
		outputs->lost = true;
		return code;
	}
	if (claim)
		claim->written = true;
	if (saved)
		mf_message_say(MF_MESSAGE_ERROR, "%s", err->text);
	*name = saved ? saved : mf_take(chosen, NULL);
	if (outputs->written && (kind == MF_OUTPUT_PROFILE || kind == MF_OUTPUT_RECORDING))
		outputs->written(outputs->written_data, pid, *name);
	return 0;
}

void mf_outputs_tell(struct mf_outputs *outputs, void (*written)(void *data, pid_t pid, const char *name), void *data)
{
	outputs->written = written;
	outputs->written_data = data;
}

size_t mf_outputs_count(const struct mf_outputs *outputs, enum mf_output_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < outputs->n_claims; i++)
		n += outputs->claims[i].kind == kind && outputs->claims[i].written;
	return n;
}

void mf_outputs_lose(struct mf_outputs *outputs)
{
	outputs->lost = true;
}

bool mf_outputs_are_lost(const struct mf_outputs *outputs)
{
	return outputs->lost;
}
