// SPDX-License-Identifier: GPL-2.0
// Tells from /proc in which state another process is, and waits for a state.

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "selftests/lib/patience.h"
#include "selftests/lib/process_state.h"

#define TRIES 6000
#define TRY_US 10000

/* Returns the state in the file "stat" of a directory of /proc; 0 if there is none. */
static char state_in(const char *directory)
{
	char path[384], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/stat", directory);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(file);
	return state;
}

char process_state(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return state_in(path);
}

/* A thread that has ended since the directory was read does not count. */
static bool all_have(pid_t pid, char state)
{
	char tasks[32], path[320];
	unsigned int threads = 0;
	struct dirent *entry;
	bool have = true;
	DIR *dir;

	snprintf(tasks, sizeof(tasks), "/proc/%d/task", (int)pid);
	dir = opendir(tasks);
	if (!dir)
		return false;
	while (have && (entry = readdir(dir))) {
		char its;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", tasks, entry->d_name);
		its = state_in(path);
		have = !its || its == state;
		threads += its == state;
	}
	closedir(dir);
	return have && threads;
}

bool process_await_state(pid_t pid, char state)
{
	for (unsigned int i = 0; i < TRIES * patience(); i++) {
		if (all_have(pid, state))
			return true;
		usleep(TRY_US);
	}
	return false;
}

bool process_await_call(pid_t pid, long number)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
	for (unsigned int i = 0; i < TRIES * patience(); i++) {
		FILE *file = fopen(path, "r");
		long current = -1;
		int found;

		if (!file)
			return false;
		/* While the thread is not blocked, the file contains the word "running". */
		found = fscanf(file, "%ld", &current);
		fclose(file);
		if (found == 1 && current == number)
			return true;
		usleep(TRY_US);
	}
	return false;
}

bool process_await_exec(pid_t pid)
{
	char path[32], own[512] = "", other[512];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (readlink("/proc/self/exe", own, sizeof(own) - 1) < 0)
		return false;
	for (unsigned int i = 0; i < TRIES * patience(); i++) {
		memset(other, 0, sizeof(other));
		if (readlink(path, other, sizeof(other) - 1) < 0)
			return false;
		if (strcmp(own, other) != 0)
			return true;
		usleep(TRY_US);
	}
	return false;
}

/* A file that cannot be read is left out. */
static void log_file(const char *pid, const char *name)
{
	char path[320], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	file = fopen(path, "r");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file))
		fprintf(stderr, "# %s %s: %s", pid, name, line);
	fclose(file);
}

void process_log_all(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		log_file(entry->d_name, "stat");
		log_file(entry->d_name, "syscall");
		log_file(entry->d_name, "stack");
	}
	if (dir)
		closedir(dir);
}
