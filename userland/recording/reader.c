// SPDX-License-Identifier: GPL-2.0
// Reads recordings.

#include "recording/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "recording/massif_text.h"
#include "recording/process.h"

static int no_memory(struct mf_error *err)
{
	return mf_error_set(err, -ENOMEM, "out of memory");
}

/* Reads the sections of the next process. Returns 1; 0 at the end of the file; or -errno. */
static int read_sections(struct mf_section_reader *file, struct mf_recorded *process, struct mf_error *err)
{
	bool begun = false;
	int code;

	for (;;) {
		size_t offset = (size_t)(file->cursor.at - file->begin), size;
		uint8_t *data;
		uint32_t type;

		code = mf_section_read(file, &type, &data, &size, err);
		if (code < 0)
			return code;
		if (!code)
			return begun ? mf_error_set(err, -ENODATA, "it ends within a process") : 0;
		begun = true;
		if (!type || type >= MF_SECTION_TYPES || process->sections[type].data) {
			free(data);
			/* A type that this version does not know is skipped; one that occurs twice is a mistake. */
			if (!type || type < MF_SECTION_TYPES)
				return mf_error_set(err, -EBADMSG, "the section at byte %zu does not belong there", offset);
			continue;
		}
		process->sections[type].data = data;
		process->sections[type].size = size;
		process->sections[type].begin = offset;
		process->sections[type].end = (size_t)(file->cursor.at - file->begin);
		if (type == MF_SECTION_END)
			break;
	}
	return mf_recorded_has_sections(process) ? 1 : mf_error_set(err, -EBADMSG, "a process lacks a section");
}

/* Reads the next process. Returns 1; 0 at the end of the file; or -errno. */
static int read_process(struct mf_section_reader *file, struct mf_recording *recording, struct mf_error *err)
{
	struct mf_recorded **processes, *process = calloc(1, sizeof(*process));
	int code;

	if (!process)
		return no_memory(err);
	code = read_sections(file, process, err);
	if (code > 0)
		code = mf_recorded_take(process, recording->n_processes + 1, err) ?: 1;
	if (code <= 0) {
		mf_recorded_release(process);
		return code;
	}
	processes = reallocarray(recording->processes, recording->n_processes + 1, sizeof(process));
	if (!processes) {
		mf_recorded_release(process);
		return no_memory(err);
	}
	recording->processes = processes;
	processes[recording->n_processes++] = process;
	return 1;
}

static int read_all(struct mf_section_reader *file, struct mf_recording *recording, struct mf_error *err)
{
	int code = mf_section_check_magic(file, err);

	if (code)
		return code;
	do {
		code = read_process(file, recording, err);
	} while (code > 0);
	if (!code && !recording->n_processes)
		return mf_error_set(err, -ENODATA, "it is empty: nothing was recorded");
	/* What was read before a mistake is kept. */
	if (code && code != -ENOMEM && recording->n_processes) {
		recording->damage = strdup(err->text);
		code = recording->damage ? 0 : no_memory(err);
	}
	return code;
}

/* Opens the file, which must be a regular one: nobody waits for the writer of a FIFO. Returns a descriptor or -errno. */
static int open_regular(const char *path, struct mf_error *err)
{
	mf_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;

	if (fd < 0 || fstat(fd, &status))
		return mf_error_set(err, -errno, "%s", strerror(errno));
	if (!S_ISREG(status.st_mode))
		return mf_error_set(err, -EINVAL, "it is not a regular file");
	return mf_take(fd, -1);
}

/* Reads the whole file, or what there is of it if it becomes shorter meanwhile, into @file. */
static int load(int fd, struct mf_bytes *file, struct mf_error *err)
{
	uint8_t part[65536];
	ssize_t got;

	while ((got = read(fd, part, sizeof(part))) > 0) {
		mf_bytes_add(file, part, (size_t)got);
		/* A file of another kind can be larger than memory: do not read all of it. */
		if (file->size == (size_t)got) {
			struct mf_section_reader start = mf_section_reader(file->data, file->size);
			int code = mf_section_check_magic(&start, err);

			if (code)
				return code;
		}
		if (file->failed)
			return no_memory(err);
	}
	if (got < 0)
		return mf_error_set(err, -errno, "%s", strerror(errno));
	return file->size ? 0 : mf_error_set(err, -EINVAL, "it is not a recording: it is empty");
}

/* Makes a process of a massif.out file. */
static int read_text(int fd, struct mf_recording *recording, struct mf_error *err)
{
	struct mf_recorded *process = calloc(1, sizeof(*process));
	int code;

	recording->processes = calloc(1, sizeof(*recording->processes));
	if (!process || !recording->processes) {
		free(process);
		return no_memory(err);
	}
	recording->processes[recording->n_processes++] = process;
	code = mf_massif_text_read(process, fd, err);
	if (code)
		return code;
	mf_recorded_describe(process);
	return 0;
}

static int read_sealed(int fd, struct mf_bytes *file, struct mf_recording *recording, struct mf_error *err)
{
	struct mf_section_reader sections;
	int code = load(fd, file, err);

	if (code)
		return code;
	sections = mf_section_reader(file->data, file->size);
	return read_all(&sections, recording, err);
}

int mf_recording_read(const char *path, struct mf_recording *recording, struct mf_error *err)
{
	mf_auto_close int fd = -1;
	struct mf_bytes file = { 0 };
	struct mf_error why;
	char begin[16];
	ssize_t got;
	int code;

	*recording = (struct mf_recording){ 0 };
	code = fd = open_regular(path, &why);
	if (fd >= 0) {
		got = pread(fd, begin, sizeof(begin), 0);
		code = got > 0 && mf_massif_text_is(begin, (size_t)got) ? read_text(fd, recording, &why) :
									 read_sealed(fd, &file, recording, &why);
		mf_bytes_deinit(&file);
	}
	if (!code)
		return 0;
	mf_recording_release(recording);
	return mf_error_set(err, code, "cannot read '%.600s': %.300s", path, why.text);
}

int mf_recording_read_whole(const char *path, struct mf_bytes *file, struct mf_recording *recording,
			    struct mf_error *err)
{
	mf_auto_close int fd = -1;
	struct mf_error why;
	char begin[16];
	ssize_t got;
	int code;

	*recording = (struct mf_recording){ 0 };
	code = fd = open_regular(path, &why);
	got = fd < 0 ? 0 : pread(fd, begin, sizeof(begin), 0);
	if (got > 0 && mf_massif_text_is(begin, (size_t)got))
		code = mf_error_set(&why, -EINVAL, "it is a massif.out file, not a recording (massif-ctl record)");
	else if (fd >= 0)
		code = read_sealed(fd, file, recording, &why);
	if (!code && recording->damage)
		code = mf_error_set(&why, -EBADMSG, "it is damaged: %s", recording->damage);
	if (!code)
		return 0;
	mf_recording_release(recording);
	return mf_error_set(err, code, "cannot read '%.600s': %.300s", path, why.text);
}

void mf_recording_release(struct mf_recording *recording)
{
	for (size_t i = 0; i < recording->n_processes; i++)
		mf_recorded_release(recording->processes[i]);
	free(recording->processes);
	free(recording->damage);
	*recording = (struct mf_recording){ 0 };
}
