// SPDX-License-Identifier: GPL-2.0
// Counts the programs that profiled processes are about to execute and that have not yet joined the run
// (protocol/join.h).

#include "expected.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ctl/launch/shim.h"
#include "ctl/message/message.h"
#include "ctl/options/skipped_children.h"
#include "ctl/launch/program.h"
#include "timekeeper.h"

enum {
	PATIENCE_MS = 1000, /* maximum time from the announcement of a program to its first event */
};

/*
 * Returns the program's path, resolved relative to the working directory of the process, or NULL. The caller
 * frees it.
 */
static char *locate(const struct mf_request *join_request)
{
	char *path;

	if (join_request->path[0] == '/' || join_request->request.args_bytes)
		return strdup(join_request->path);
	return asprintf(&path, "/proc/%d/cwd/%s", (int)join_request->pid, join_request->path) < 0 ? NULL : path;
}

/* Reads the path of the root directory of process @pid as massif-ctl sees it. Returns "" if it is not known. */
static const char *read_root(pid_t pid, char root[PATH_MAX])
{
	char link[32];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%d/root", (int)pid);
	length = readlink(link, root, PATH_MAX - 1);
	root[length < 0 ? 0 : length] = '\0';
	return root;
}

/* Returns whether process @pid has the same root directory as massif-ctl. */
static bool has_own_root(pid_t pid)
{
	struct stat own, other;
	char link[32];

	snprintf(link, sizeof(link), "/proc/%d/root", (int)pid);
	return !stat("/", &own) && !stat(link, &other) && own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

/* Returns the program's path, below the process's root directory if that is known, or NULL. The caller frees it. */
static char *name_in_root(const struct mf_request *join_request)
{
	char root[PATH_MAX] = "", *name;

	if (join_request->path[0] == '/')
		read_root(join_request->pid, root);
	return asprintf(&name, "%s%s", strcmp(root, "/") ? root : "", join_request->path) < 0 ? NULL : name;
}

/* Reports that a program has another C library. massif-ctl may be unable to find the program's file. */
static void say_other_library(struct mf_expected *expected, const struct mf_options *options,
			      const struct mf_request *join_request)
{
	bool can_find = strchr(join_request->path, '/') && has_own_root(join_request->pid);
	mf_auto_free char *path = can_find ? locate(join_request) : name_in_root(join_request);
	const struct mf_program program = { .path = path, .kind = MF_PROGRAM_LOADER };

	if (!path || mf_children_skips(options, join_request->path, "", 0))
		return;
	if (can_find)
		mf_unsupporteds_say(&expected->obstacles, &program);
	else
		mf_unsupporteds_say_path(&expected->obstacles, path, program.kind);
}

void mf_expected_leaves(struct mf_expected *expected, const struct mf_options *options,
			const struct mf_request *join_request)
{
	mf_auto_free char *shim = NULL;
	int code = atoi(join_request->args);
	pid_t pid = join_request->pid;
	char path[PATH_MAX];
	struct mf_error err;
	const char *root;

	if (code == ELIBBAD) {
		say_other_library(expected, options, join_request);
		return;
	}
	if (code == ENOMEM) {
		if (mf_message_quota_take(&expected->without_memory, MF_MESSAGE_PROBLEM,
					  "programs that are not profiled, because there is no memory for their "
					  "environment,"))
			mf_message_say(MF_MESSAGE_PROBLEM,
				       "process %d executes %s, which is not profiled, because there is no memory for "
				       "its environment",
				       (int)pid, join_request->path);
		return;
	}
	if (expected->shim_missed)
		return;
	expected->shim_missed = true;
	root = read_root(pid, path);
	if (mf_shim_find(&shim, &err))
		mf_message_say(MF_MESSAGE_PROBLEM, "%s", err.text);
	else if (code != ENOENT && code != ENOTDIR)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "process %d executes programs that are not profiled, because it cannot reach %s: %s",
			       (int)pid, shim, strerror(code));
	else
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "process %d executes programs in the root directory %s, which are not profiled, because "
			       "%s does not exist there; copy the file to the same path below that directory, or "
			       "mount it there",
			       (int)pid, *root && strcmp(root, "/") ? root : "of a container", shim);
}

void mf_expected_start(struct mf_expected *expected, const struct mf_options *options,
		       const struct mf_request *join_request)
{
	__attribute__((cleanup(mf_program_deinit))) struct mf_program program = { 0 };
	mf_auto_free char *path = locate(join_request);
	struct mf_error err;

	if (!path || mf_program_resolve(&program, path, join_request->args, &err) ||
	    mf_children_skips(options, program.path, "", 0))
		return;
	mf_unsupporteds_say(&expected->obstacles, &program);
	if (mf_unsupported_of(program.kind))
		return;
	if (!mf_expected_is_any(expected, mf_timekeeper_now()))
		expected->n = 0;
	expected->n++;
	expected->until = mf_timekeeper_now() + PATIENCE_MS;
}

void mf_expected_joined(struct mf_expected *expected)
{
	if (expected->n)
		expected->n--;
}

bool mf_expected_is_any(const struct mf_expected *expected, int64_t now)
{
	return expected->n && now < expected->until;
}

void mf_expected_deinit(struct mf_expected *expected)
{
	mf_unsupporteds_deinit(&expected->obstacles);
}
