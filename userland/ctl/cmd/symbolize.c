// SPDX-License-Identifier: GPL-2.0
// massif-ctl symbolize: looks up the names of a recording again, on another machine or with other debug files.

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "command.h"
#include "ctl/files/outfile.h"
#include "ctl/message/message.h"
#include "ctl/query/naming_table.h"
#include "ctl/query/query.h"
#include "recording/naming.h"
#include "symbols/debuginfod.h"
#include "symbols/search.h"

#define MODE 0600

enum {
	STATUS_DONE,
	STATUS_ERROR,
};

static int refuse(const struct mf_error *err)
{
	mf_message_say(MF_MESSAGE_ERROR, "%s", err->text);
	return STATUS_ERROR;
}

static void tell_names(size_t done, size_t total)
{
	mf_message_progress("looking up names", done, total);
}

static void tell_download(size_t done, size_t total)
{
	mf_message_progress("downloading debug information (bytes)", done, total);
}

/* The new recording, and the file that it replaces. */
struct result {
	struct mf_bytes bytes;
	char *path;	    /* the file that was read, which is no symbolic link */
	struct stat status; /* of this file, when it was read */
};

static void result_deinit(struct result *result)
{
	mf_bytes_deinit(&result->bytes);
	free(result->path);
}

static int fill(FILE *out, void *data, struct mf_error *err)
{
	const struct result *result = data;

	if (fwrite(result->bytes.data, 1, result->bytes.size, out) == result->bytes.size && fflush(out) == 0)
		return 0;
	return mf_error_set(err, -errno, "cannot write the recording: %s", strerror(errno));
}

/* Fails if the file is another one now, or has more processes: a program that is recorded may still run. */
static int check_still(const struct result *result, struct mf_error *err)
{
	const struct stat *before = &result->status;
	struct stat now;

	if (stat(result->path, &now) == 0 && now.st_dev == before->st_dev && now.st_ino == before->st_ino &&
	    now.st_size == before->st_size && now.st_mtim.tv_sec == before->st_mtim.tv_sec &&
	    now.st_mtim.tv_nsec == before->st_mtim.tv_nsec)
		return 0;
	return mf_error_set(err, -EBUSY, "'%.600s' was changed meanwhile, so it is not replaced; try again, or use -o",
			    result->path);
}

/* The new file has the mode and, as far as possible, the owner of the old one. */
static int replace(struct result *result, struct mf_error *err)
{
	const struct stat *status = &result->status;
	struct mf_outfile file;
	struct mf_error why;
	int code = mf_outfile_open(&file, result->path, MODE, err);

	if (code) {
		mf_outfile_discard(&file);
		return code;
	}
	if ((status->st_uid != geteuid() || status->st_gid != getegid()) &&
	    fchown(fileno(file.stream), status->st_uid, status->st_gid))
		mf_message_say(MF_MESSAGE_DETAIL, "'%s' has another owner now", result->path);
	if (fchmod(fileno(file.stream), status->st_mode & 0777))
		code = -errno;
	else
		code = fill(file.stream, result, &why);
	if (code)
		mf_outfile_explain(result->path, code, err);
	code = code ?: check_still(result, err);
	if (!code)
		return mf_outfile_commit(&file, err);
	mf_outfile_discard(&file);
	return code;
}

static int write_result(const struct mf_query *query, struct result *result, struct mf_error *err)
{
	const struct mf_outfile_source source = { .fill = fill, .data = result, .mode = MODE, .stem = "massif.rec" };

	return query->output ? mf_query_write(query, &source, err) : replace(result, err);
}

static int load(const struct mf_query *query, struct result *result, struct mf_bytes *file,
		struct mf_recording *recording, struct mf_error *err)
{
	const char *path = query->files[0];

	result->path = realpath(path, NULL);
	if (!result->path || stat(result->path, &result->status))
		return mf_error_set(err, -errno, "cannot read '%.600s': %s", path, strerror(errno));
	return mf_recording_read_whole(path, file, recording, err);
}

static void say_written(const struct mf_query *query, const struct mf_naming *naming)
{
	const char *path = query->output ?: query->files[0];

	if (naming->n_better)
		mf_message_say(MF_MESSAGE_NOTE, "%zu frame%s %s better names now; wrote %s", naming->n_better,
			       naming->n_better == 1 ? "" : "s", naming->n_better == 1 ? "has" : "have", path);
	else
		mf_message_say(MF_MESSAGE_NOTE, "no better names were found%s%s", query->output ? "; wrote " : "",
			       query->output ? path : "; the recording is unchanged");
}

static int symbolize(const struct mf_query *query, struct mf_naming *naming, struct mf_error *err)
{
	__attribute__((cleanup(mf_recording_release))) struct mf_recording recording = { 0 };
	__attribute__((cleanup(mf_bytes_deinit))) struct mf_bytes file = { 0 };
	__attribute__((cleanup(result_deinit))) struct result result = { .path = NULL };
	bool to_stdout = query->output && strcmp(query->output, "-") == 0;
	int code;

	code = load(query, &result, &file, &recording, err) ?:
	       mf_naming_copy(naming, &file, &recording, &result.bytes, err);
	if (code)
		return code;
	if (naming->n_better || query->output)
		code = write_result(query, &result, err);
	if (!code && mf_message_is_heard(MF_MESSAGE_NOTE))
		code = mf_naming_table_print(to_stdout ? stderr : stdout, naming, err);
	if (!code)
		say_written(query, naming);
	return code;
}

static int check_directories(const struct mf_query *query, struct mf_error *err)
{
	struct stat status;

	for (size_t i = 0; i < query->n_debug_dirs; i++) {
		const char *path = query->debug_dirs[i];

		if (stat(path, &status))
			return mf_error_set(err, -errno, "--debug-dir=%.600s: %s", path, strerror(errno));
		if (!S_ISDIR(status.st_mode))
			return mf_error_set(err, -ENOTDIR, "--debug-dir=%.600s: it is not a directory", path);
	}
	return 0;
}

/* What the servers were asked for was not done if they cannot be reached. */
static int check_servers(const struct mf_debuginfod *debuginfod)
{
	int code = debuginfod ? mf_debuginfod_failure(debuginfod) : 0;

	if (!code)
		return STATUS_DONE;
	mf_message_say(MF_MESSAGE_ERROR, "--debuginfod: a server could not be asked: %s", strerror(-code));
	return STATUS_ERROR;
}

static void close_debuginfod(struct mf_debuginfod **debuginfod)
{
	mf_debuginfod_close(*debuginfod);
}

static int run(const struct mf_query *query)
{
	__attribute__((cleanup(mf_naming_deinit))) struct mf_naming naming = { .options = query->options.symbolizer };
	__attribute__((cleanup(close_debuginfod))) struct mf_debuginfod *debuginfod = NULL;
	struct mf_search search = { .directories = query->debug_dirs, .n_directories = query->n_debug_dirs };
	struct mf_error err;

	if (check_directories(query, &err) ||
	    (query->debuginfod && mf_debuginfod_open(query->debuginfod_urls, tell_download, &debuginfod, &err)))
		return refuse(&err);
	if (debuginfod) {
		search.fetch = mf_debuginfod_fetch;
		search.fetch_data = debuginfod;
	}
	naming.options.search = &search;
	naming.options.progress = tell_names;
	/* The table says which files cannot be read. */
	naming.options.unreadable = NULL;
	if (symbolize(query, &naming, &err))
		return refuse(&err);
	return check_servers(debuginfod);
}

const char *const mf_command_symbolize_words[] = {
	"--debug-dir", "--debuginfod", "--output", "-o", "--demangle", NULL,
};

int mf_command_symbolize(int argc, char **argv)
{
	__attribute__((cleanup(mf_query_release))) struct mf_query query = { 0 };
	struct mf_error err;

	if (mf_query_parse(&query, argc, argv, 1, mf_command_symbolize_words, &err))
		return refuse(&err);
	return run(&query);
}
