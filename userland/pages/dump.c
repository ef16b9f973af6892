// SPDX-License-Identifier: GPL-2.0
// Writes the model's mappings to a file, so that tests can compare them with /proc/PID/maps.

#include "pages/dump.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

static FILE *open_append(const char *path)
{
	mf_auto_close int fd =
		open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "a");

	if (file)
		fd = -1;
	return file;
}

/* Returns the name of the request file. Creating this file requests a dump. */
static const char *asking(const char *path)
{
	static char name[4096];

	snprintf(name, sizeof(name), "%s.now", path);
	return name;
}

bool mf_dump_is_wanted(const char *path, char moment[MF_DUMP_MOMENT_MAX])
{
	mf_auto_fclose FILE *file = fopen(asking(path), "re");

	moment[0] = '\0';
	return file && fscanf(file, "%31s", moment) == 1;
}

void mf_dump_done(const char *path)
{
	unlink(asking(path));
}

int mf_dump_intervals(const char *path, const struct mf_pages_process *process, const char *moment,
		      const struct mf_space *space, struct mf_error *err)
{
	mf_auto_fclose FILE *file = open_append(path);
	const struct mf_interval *interval;
	uint64_t start = 0, end = 0;

	if (!file)
		return mf_error_set(err, -errno, "cannot write %s (MASSIF_DUMP_INTERVALS): %s",
				    path, strerror(errno));
	fprintf(file,
		"process %d model %" PRIu64 " kernel %" PRIu64 " lost %" PRIu64
		" mismatches %" PRIu64 "%s%s\n",
		process->pid, process->model_pages, process->kernel_pages, process->lost,
		process->mismatches, moment[0] ? " at " : "", moment);
	fprintf(file,
		"stacks recognised %" PRIu64 " captured %" PRIu64 " walked %" PRIu64
		" limited %" PRIu64 " none %" PRIu64 " verified %" PRIu64 " wrong %" PRIu64 "\n",
		process->recognised, process->captured, process->walked, process->limited,
		process->no_stack, process->verified, process->wrong_stacks);
	for (interval = mf_space_next(space, 0); interval;
	     interval = mf_space_next(space, interval->end)) {
		if (interval->start != end) {
			if (end)
				fprintf(file, "%" PRIx64 "-%" PRIx64 "\n", start, end);
			start = interval->start;
		}
		end = interval->end;
	}
	if (end)
		fprintf(file, "%" PRIx64 "-%" PRIx64 "\n", start, end);
	if (fflush(file))
		return mf_error_set(err, -errno, "cannot write %s (MASSIF_DUMP_INTERVALS): %s",
				    path, strerror(errno));
	return 0;
}
