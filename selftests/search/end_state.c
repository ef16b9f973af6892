// SPDX-License-Identifier: GPL-2.0
// Prints what /proc shows about a process that is about to end, except for what massif has added to the process.

#include "selftests/search/end_state.h"

#include <dirent.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Lines of /proc/PID/status that depend on the program itself. */
static const char *const status_lines[] = {
	"Umask:",  "Uid:",    "Gid:",	     "Groups:",	 "SigPnd:",  "ShdPnd:",	   "SigBlk:",
	"SigIgn:", "SigCgt:", "CapInh:",     "CapPrm:",	 "CapEff:",  "CapBnd:",	   "CapAmb:",
	"Seccomp:", "THP_enabled:", "NoNewPrivs:", "Speculation_Store_Bypass:",
};

/* Files in /proc/PID whose contents are printed unchanged. */
static const char *const whole_files[] = {
	"limits", "timers", "coredump_filter", "timerslack_ns", "personality", "oom_score_adj",
};

/* The output file, and the name of the process's executable. Every line of the output begins with this name. */
static FILE *to;
static const char *name;

__attribute__((format(printf, 2, 3))) static void say(const char *what, const char *format, ...)
{
	va_list arguments;

	fprintf(to, "%s: %s ", name, what);
	va_start(arguments, format);
	vfprintf(to, format, arguments);
	va_end(arguments);
}

static FILE *open_proc(pid_t pid, const char *file)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	return fopen(path, "re");
}

/*
 * Returns whether @text, a string from a file in /proc, contains the name of something that massif adds to a process.
 * massif's two environment variables have been removed from environ, but their bytes are still on the initial stack,
 * and /proc shows them.
 */
static bool is_ours(const char *text)
{
	return strstr(text, "libmassif-preload.so") || strstr(text, "memfd:massif-") ||
	       strstr(text, "MASSIF_SESSION=");
}

static void print_status(pid_t pid)
{
	FILE *file = open_proc(pid, "status");
	char line[1024];

	while (file && fgets(line, sizeof(line), file)) {
		for (size_t i = 0; i < sizeof(status_lines) / sizeof(status_lines[0]); i++) {
			if (!strncmp(line, status_lines[i], strlen(status_lines[i])))
				say("status", "%s", line);
		}
	}
	if (file)
		fclose(file);
}

static void print_whole(pid_t pid, const char *what)
{
	FILE *file = open_proc(pid, what);
	char line[1024];

	while (file && fgets(line, sizeof(line), file))
		say(what, "%s", line);
	if (file)
		fclose(file);
}

/* Prints the NUL-terminated strings in a file in /proc: the command line or the environment of the process. */
static void print_strings(pid_t pid, const char *what)
{
	FILE *file = open_proc(pid, what);
	char *string = NULL;
	size_t size = 0;

	while (file && getdelim(&string, &size, '\0', file) > 0) {
		/* Skip leftovers in the environment: the tails of longer values that massif has overwritten have no "=". */
		if (!is_ours(string) && (strcmp(what, "environ") || strchr(string, '=')))
			say(what, "%s\n", string);
	}
	free(string);
	if (file)
		fclose(file);
}

/*
 * Prints the file that a descriptor refers to. For a pipe or socket, prints only the type, because the inode number
 * differs from run to run.
 */
static void print_descriptor(pid_t pid, const char *number)
{
	char path[PATH_MAX], link[PATH_MAX];
	ssize_t length;
	char *end;

	snprintf(path, sizeof(path), "/proc/%d/fd/%s", pid, number);
	length = readlink(path, link, sizeof(link) - 1);
	if (length <= 0)
		return;
	link[length] = '\0';
	end = strstr(link, ":[");
	if (end)
		*end = '\0';
	if (!is_ours(link))
		say("descriptor", "%s %s\n", number, link);
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
	return atoi((*a)->d_name) - atoi((*b)->d_name);
}

static void print_descriptors(pid_t pid)
{
	struct dirent **entries;
	char path[64];
	int count;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	count = scandir(path, &entries, NULL, by_number);
	for (int i = 0; i < count; i++) {
		if (entries[i]->d_name[0] != '.')
			print_descriptor(pid, entries[i]->d_name);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

/* Prints the permissions and the file of each file mapping, but not its address, which is random. */
static void print_maps(pid_t pid)
{
	FILE *file = open_proc(pid, "maps");
	char line[PATH_MAX + 128];

	while (file && fgets(line, sizeof(line), file)) {
		char *permissions = strchr(line, ' '), *path = strchr(line, '/');

		if (path && permissions && !is_ours(line))
			say("mapped", "%.5s %s", permissions + 1, path);
	}
	if (file)
		fclose(file);
}

/*
 * Returns whether @pid is the ID of a process, not of another thread. /proc/PID exists for the ID of any thread, too.
 */
static bool is_first_thread(pid_t pid)
{
	FILE *file = open_proc(pid, "status");
	char line[1024];
	int group = 0;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Tgid: %d", &group) == 1)
			break;
	}
	if (file)
		fclose(file);
	return group == pid;
}

void end_state_print(pid_t pid, FILE *where)
{
	char path[64], exe[PATH_MAX];
	ssize_t length;

	to = where;
	if (!is_first_thread(pid))
		return;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	length = readlink(path, exe, sizeof(exe) - 1);
	exe[length > 0 ? length : 0] = '\0';
	if (strstr(exe, "/massif-ctl"))
		return;
	name = strrchr(exe, '/') ? strrchr(exe, '/') + 1 : exe;
	say("process", "%s\n", exe);
	print_strings(pid, "cmdline");
	print_strings(pid, "environ");
	print_status(pid);
	for (size_t i = 0; i < sizeof(whole_files) / sizeof(whole_files[0]); i++)
		print_whole(pid, whole_files[i]);
	print_descriptors(pid);
	print_maps(pid);
	fflush(to);
}
