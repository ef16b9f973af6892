// SPDX-License-Identifier: GPL-2.0
// Determines from /proc/PID/maps whether a process still has the session or the shim mapped.

#include "proc_maps.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/proc_mapping.h"

/*
 * Which files a process has mapped. If the session is not among them, the others show whether the process is ending,
 * runs a new program without the shim, or runs a new program into which the shim may still be loaded.
 */
struct files {
	char executable[PATH_MAX];
	bool any; /* true if there is at least one mapping */
	bool any_file;
	bool shim, linker, others;
};

static void read_executable(pid_t pid, struct files *files)
{
	char link[32];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	length = readlink(link, files->executable, sizeof(files->executable) - 1);
	files->executable[length > 0 ? length : 0] = '\0';
}

static void note(struct files *files, const char *path)
{
	size_t length = strlen(files->executable);

	files->any = true;
	if (*path != '/')
		return;
	files->any_file = true;
	if (strstr(path, "/libmassif-preload.so"))
		files->shim = true;
	else if (strstr(path, "/ld-linux") || strstr(path, "/ld-2."))
		files->linker = true;
	else if (!length || strncmp(path, files->executable, length))
		files->others = true;
}

/*
 * Classifies a process that does not have the session mapped. During execve(), the kernel sets up the stack before it
 * maps any files. The dynamic linker maps preloaded libraries before all others, so if only the linker and the
 * executable are mapped, the shim may be about to be loaded.
 */
static enum mf_proc_maps without_session(const struct files *files)
{
	if (!files->any)
		return MF_MAPPED_ENDING;
	return files->shim || !files->any_file || (files->linker && !files->others) ? MF_MAPPED_ARRIVING : MF_MAPPED_OTHER;
}

enum mf_proc_maps mf_proc_maps_of(pid_t pid)
{
	__attribute__((cleanup(mf_proc_mappings_close))) struct mf_proc_mappings maps;
	struct mf_proc_mapping mapping;
	struct files files = { "" };
	int code = mf_proc_mappings_open(&maps, pid);

	if (code)
		return code == -ENOENT || code == -ESRCH ? MF_MAPPED_ENDING : MF_MAPPED_UNKNOWN;
	read_executable(pid, &files);
	while (mf_proc_mappings_next(&maps, &mapping)) {
		if (strstr(mapping.path, "/memfd:massif-session"))
			return MF_MAPPED_OURS;
		note(&files, mapping.path);
	}
	return mf_proc_mappings_failed(&maps) ? MF_MAPPED_UNKNOWN : without_session(&files);
}
