// SPDX-License-Identifier: GPL-2.0
// Runs massif-ctl or another program and collects its output.

#include "selftests/lib/ctl_run.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Aborts if something that the test cannot do without has failed; the harness reports the abort. */
static void need(bool fine, const char *what)
{
	if (fine)
		return;
	perror(what);
	abort();
}

static const char *build_directory(void)
{
	const char *build = getenv("MASSIF_BUILD");

	return build ? build : "build";
}

const char *ctl_path(void)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/massif-ctl", build_directory());
	return path;
}

const char *ctl_not_by(unsigned int uid)
{
	int status;
	pid_t pid;

	if (geteuid())
		return "only root can become another user";
	pid = fork();
	if (!pid)
		_exit(setgroups(0, NULL) || setgid(uid) || setuid(uid) || access(ctl_path(), X_OK));
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return "another user may not enter the build directory";
	return NULL;
}

const char *ctl_target(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/selftests/targets/%s", build_directory(), name);
	return path;
}

/* Returns a descriptor from which @text can be read. */
static int text_descriptor(const char *text)
{
	size_t length = strlen(text);
	int fd = memfd_create("input", MFD_CLOEXEC);

	need(fd >= 0 && write(fd, text, length) == (ssize_t)length && lseek(fd, 0, SEEK_SET) == 0,
	     "memfd_create");
	return fd;
}

static void exec(void (*before)(void), const char *const *argv) __attribute__((noreturn));

static void exec(void (*before)(void), const char *const *argv)
{
	const char *path = argv[0];

	if (before)
		before();
	if (strcmp(path, "massif-ctl") == 0)
		path = ctl_path();
	execvp(path, (char *const *)argv);
	perror(path);
	_exit(99);
}

pid_t ctl_start(void (*before)(void), const char *const *argv)
{
	pid_t pid = fork();

	need(pid >= 0, "fork");
	if (pid == 0)
		exec(before, argv);
	return pid;
}

/* Reads a program's standard output and standard error, which are pipes, until both reach end of file. */
static void collect(int fds[2], char *texts[2])
{
	size_t sizes[2] = { 0, 0 };
	int open_ends = 2;

	for (int i = 0; i < 2; i++) {
		texts[i] = calloc(1, 1);
		need(texts[i], "calloc");
	}
	while (open_ends) {
		struct pollfd polled[2] = {
			{ .fd = fds[0], .events = POLLIN },
			{ .fd = fds[1], .events = POLLIN },
		};

		if (poll(polled, 2, -1) < 0)
			continue;
		for (int i = 0; i < 2; i++) {
			char buffer[4096];
			ssize_t n;

			if (!polled[i].revents)
				continue;
			n = read(fds[i], buffer, sizeof(buffer));
			if (n <= 0) {
				close(fds[i]);
				fds[i] = -1;
				open_ends--;
				continue;
			}
			texts[i] = realloc(texts[i], sizes[i] + (size_t)n + 1);
			need(texts[i], "realloc");
			memcpy(texts[i] + sizes[i], buffer, (size_t)n);
			sizes[i] += (size_t)n;
			texts[i][sizes[i]] = '\0';
		}
	}
}

void ctl_run(struct ctl_result *result, const char *input, void (*before)(void),
	     const char *const *argv)
{
	int in = text_descriptor(input ? input : "");
	int out[2], err[2];
	char *texts[2];

	need(pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0, "pipe");
	result->pid = fork();
	need(result->pid >= 0, "fork");
	if (result->pid == 0) {
		dup2(in, STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		dup2(err[1], STDERR_FILENO);
		exec(before, argv);
	}
	close(in);
	close(out[1]);
	close(err[1]);
	collect((int[]){ out[0], err[0] }, texts);
	result->out = texts[0];
	result->err = texts[1];
	need(waitpid(result->pid, &result->status, 0) == result->pid, "waitpid");
}

void ctl_result_free(struct ctl_result *result)
{
	free(result->out);
	free(result->err);
	result->out = result->err = NULL;
}

int ctl_exit_code(const struct ctl_result *result)
{
	return WIFSIGNALED(result->status) ? 128 + WTERMSIG(result->status) :
					     WEXITSTATUS(result->status);
}

char *ctl_read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (!file)
		return NULL;
	if (getdelim(&text, &size, '\0', file) < 0 && text)
		text[0] = '\0';
	fclose(file);
	return text;
}

char *ctl_await_words(const char *path, const char *words)
{
	for (int i = 0; i < 6000; i++) {
		char *text = ctl_read_file(path);

		if (text && strstr(text, words))
			return text;
		free(text);
		usleep(20000);
	}
	return NULL;
}

void ctl_write_file(const char *path, const char *text, mode_t mode)
{
	FILE *file = fopen(path, "w");

	need(file && fputs(text, file) >= 0 && fclose(file) == 0, path);
	need(chmod(path, mode) == 0, path);
}

const char *ctl_last(const char *text, const char *label)
{
	const char *found = NULL;

	for (; (text = strstr(text, label)); text += strlen(label))
		found = text + strlen(label);
	return found ? found : "";
}

unsigned long ctl_number(const char *text, const char *label)
{
	const char *at = strstr(text, label);

	return at ? strtoul(at + strlen(label), NULL, 10) : 0;
}

size_t ctl_find_files(const char *prefix, char name[256])
{
	DIR *directory = opendir(".");
	struct dirent *entry;
	size_t n = 0;

	need(directory, "opendir");
	while ((entry = readdir(directory))) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
		    strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (name)
			snprintf(name, 256, "%s", entry->d_name);
		n++;
	}
	closedir(directory);
	return n;
}

void ctl_remove_files(const char *prefix)
{
	char name[256];

	while (ctl_find_files(prefix, name))
		need(unlink(name) == 0, name);
}

static bool next_line(const char **text, const char *format, void *value)
{
	int length = -1;
	char line[256];

	/* Copy a single line, because sscanf() calls strlen() on its whole input. */
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(*text, "\n"), *text);
	/* @format ends in %n, which sets length. If the line does not match all of @format, length stays -1. */
	if (value)
		sscanf(line, format, value, &length);
	else
		sscanf(line, format, &length);
	if (length < 0 || (*text)[length] != '\n')
		return false;
	*text += length + 1;
	return true;
}

/* Parses a tree entry and, recursively, its child entries, whose number the entry gives. */
static bool take_tree(const char **text, unsigned int depth)
{
	const char *end = strchr(*text, '\n'), *line = *text + depth;
	unsigned long children;
	char *past;

	if (depth > 500 || !end || strspn(*text, " ") != depth || line[0] != 'n' ||
	    !isdigit((unsigned char)line[1]))
		return false;
	children = strtoul(line + 1, &past, 10);
	if (past[0] != ':' || past[1] != ' ' || !isdigit((unsigned char)past[2]))
		return false;
	*text = end + 1;
	while (children--) {
		if (!take_tree(text, depth + 1))
			return false;
	}
	return true;
}

static bool take_snapshot(const char **text, unsigned int number)
{
	unsigned long long value;
	unsigned int found;
	char kind[16];

	if (!next_line(text, "#-----------%n", NULL) ||
	    !next_line(text, "snapshot=%u%n", &found) || found != number ||
	    !next_line(text, "#-----------%n", NULL) ||
	    !next_line(text, "time=%llu%n", &value) ||
	    !next_line(text, "mem_heap_B=%llu%n", &value) ||
	    !next_line(text, "mem_heap_extra_B=%llu%n", &value) ||
	    !next_line(text, "mem_stacks_B=%llu%n", &value) ||
	    !next_line(text, "heap_tree=%15[a-z]%n", kind))
		return false;
	return strcmp(kind, "empty") == 0 || take_tree(text, 0);
}

bool ctl_is_massif_file(const char *text)
{
	char unit[4];
	unsigned int n = 0;

	for (int i = 0; i < 2; i++) {
		const char *const words = i ? "cmd: " : "desc: ";

		if (strncmp(text, words, strlen(words)) != 0 || !strchr(text, '\n'))
			return false;
		text = strchr(text, '\n') + 1;
	}
	if (!next_line(&text, "time_unit: %3[imsB]%n", unit))
		return false;
	while (*text) {
		if (!take_snapshot(&text, n++))
			return false;
	}
	return n > 0;
}

char *ctl_saved_file(const char *err)
{
	static const char label[] = "; saved as ", end[] = " instead\n";
	const char *start = strstr(err, label);
	const char *stop = start ? strstr(start, end) : NULL;

	if (!stop)
		return NULL;
	start += strlen(label);
	return strndup(start, (size_t)(stop - start));
}
