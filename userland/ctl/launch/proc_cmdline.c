// SPDX-License-Identifier: GPL-2.0
// Determines the command line of a process that has just executed a program.

#include "proc_cmdline.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/regular.h"

/* Returns whether @path, relative to the working directory of @pid, is a script. */
static bool is_script(pid_t pid, const char *path)
{
	mf_auto_close int directory = -1, fd = -1;
	char link[32], head[2];

	snprintf(link, sizeof(link), "/proc/%d/cwd", (int)pid);
	directory = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = mf_regular_openat(directory, path);
	return fd >= 0 && pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	       !memcmp(head, "#!", sizeof(head));
}

/*
 * Returns the command as it was executed. For a script, the kernel inserts the interpreter, and possibly one argument
 * for it, before the script's name. For other programs the first argument is arbitrary, so the path is shown instead.
 */
char *mf_proc_cmdline(pid_t pid, const struct mf_request *join_request)
{
	const char *arg = join_request->args, *end = join_request->args + join_request->request.args_bytes;
	mf_auto_free char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs(join_request->path, out);
	if (is_script(pid, join_request->path)) {
		for (int i = 0; arg < end && i < 2 && strcmp(arg, join_request->path); i++)
			arg += strlen(arg) + 1;
	}
	for (arg += arg < end ? strlen(arg) + 1 : 0; arg < end; arg += strlen(arg) + 1)
		fprintf(out, " %s", arg);
	if (join_request->request.args_bytes && end[-1])
		fputs("...", out);
	return fclose(out) == 0 ? mf_take(text, NULL) : NULL;
}
