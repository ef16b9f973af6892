// SPDX-License-Identifier: GPL-2.0
// The recording of a run: one file to which each process of the run is added when its profile ends.

#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/cleanup.h"
#include "ctl/files/outname.h"
#include "ctl/message/message.h"
#include "ctl/message/shell_word.h"
#include "recording/section.h"
#include "recording/writer.h"

struct mf_recorder {
	char *path; /* the file; NULL before the first process is added */
	pid_t pid;  /* what %p in the file's name stands for; 0: the first process that is added */
	size_t n_processes;
};

struct mf_recorder *mf_recorder_create(void)
{
	return calloc(1, sizeof(struct mf_recorder));
}

void mf_recorder_destroy(struct mf_recorder *recorder)
{
	if (!recorder)
		return;
	free(recorder->path);
	free(recorder);
}

void mf_recorder_set_pid(struct mf_recorder *recorder, pid_t pid)
{
	recorder->pid = pid;
}

static int fill(FILE *out, void *data, struct mf_error *err)
{
	const struct mf_bytes *bytes = data;

	if (fwrite(bytes->data, 1, bytes->size, out) == bytes->size && fflush(out) == 0)
		return 0;
	return mf_error_set(err, -errno, "%s", strerror(errno));
}

static int create(struct mf_recorder *recorder, struct mf_outputs *outputs, const char *pattern,
		  struct mf_bytes *bytes, mode_t mode, struct mf_error *err)
{
	char stem[32];
	const struct mf_outfile_source source = { .fill = fill, .data = bytes, .mode = mode, .stem = stem };
	mf_auto_free char *path = NULL;
	int code;

	code = mf_outname_expand(pattern, recorder->pid, 1, &path, err);
	if (code)
		return code;
	snprintf(stem, sizeof(stem), "massif.rec.%d", (int)recorder->pid);
	return mf_outputs_write(outputs, MF_OUTPUT_RECORDING, path, recorder->pid, &source, &recorder->path, err);
}

/* Appends @bytes to the file. If that fails, removes what was written of them, so that the file stays readable. */
static int append(const struct mf_recorder *recorder, const struct mf_bytes *bytes, struct mf_error *err)
{
	mf_auto_close int fd = open(recorder->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
	struct stat status;
	int code = 0;

	if (fd < 0 || fstat(fd, &status))
		return mf_error_set(err, -errno, "cannot add to the recording '%.600s': %s", recorder->path,
				    strerror(errno));
	for (size_t done = 0; done < bytes->size && !code;) {
		ssize_t written = write(fd, bytes->data + done, bytes->size - done);

		if (written >= 0)
			done += (size_t)written;
		else if (errno != EINTR)
			code = -errno;
	}
	if (!code)
		return 0;
	if (S_ISREG(status.st_mode) && ftruncate(fd, status.st_size))
		return mf_error_set(err, code, "the recording '%.600s' ends within a process: %s", recorder->path,
				    strerror(-code));
	return mf_error_set(err, code, "cannot add to the recording '%.600s': %s", recorder->path, strerror(-code));
}

int mf_recorder_add(struct mf_recorder *recorder, struct mf_outputs *outputs, const char *pattern,
		    struct mf_facts *facts, const struct mf_profile *profile, const struct mf_profile_snapshot *end,
		    struct mf_symbolizer *symbolizer, mode_t mode, struct mf_error *err)
{
	struct mf_bytes bytes = { 0 };
	struct utsname machine;
	char kernel[2 * sizeof(machine.release)] = "";
	int code;

	if (!recorder->pid)
		recorder->pid = (pid_t)facts->pid;
	if (!uname(&machine))
		snprintf(kernel, sizeof(kernel), "%s %s", machine.release, machine.machine);
	facts->kernel = kernel;
	facts->written_s = (uint64_t)time(NULL);
	if (!recorder->path)
		mf_section_add_magic(&bytes);
	code = mf_recording_add(&bytes, facts, profile, end, symbolizer, err);
	if (!code)
		code = recorder->path ? append(recorder, &bytes, err) :
					create(recorder, outputs, pattern, &bytes, mode, err);
	mf_bytes_deinit(&bytes);
	recorder->n_processes += !code;
	return code;
}

bool mf_recorder_make_absolute(struct mf_recorder *recorder, const char *directory)
{
	char *path;

	if (!recorder->path || *recorder->path == '/')
		return true;
	if (asprintf(&path, "%s/%s", directory, recorder->path) < 0)
		return false;
	free(recorder->path);
	recorder->path = path;
	return true;
}

void mf_recorder_say(const struct mf_recorder *recorder)
{
	mf_auto_free char *word = recorder->path ? mf_shell_word(recorder->path) : NULL;

	if (recorder->path)
		mf_message_say(MF_MESSAGE_NOTE, "wrote the recording of %zu process%s: massif-ctl show %s",
			       recorder->n_processes, recorder->n_processes == 1 ? "" : "es", word ?: recorder->path);
}
