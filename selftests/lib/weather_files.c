// SPDX-License-Identifier: GPL-2.0
// Writes to files in /sys and /proc, and manages control groups, for the disturbances that weather.h declares.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "selftests/lib/weather.h"

#define GROUPS	"weather.groups"

bool weather_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok;

	if (fd < 0)
		return false;
	ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return ok;
}

long weather_number(const char *path, const char *field)
{
	size_t len = field ? strlen(field) : 0;
	char line[256];
	long number = -1;
	FILE *file = fopen(path, "r");

	while (file && number < 0 && fgets(line, sizeof(line), file))
		if (!field || (!strncmp(line, field, len) && line[len] == ' '))
			number = atol(line + len);
	if (file)
		fclose(file);
	return number;
}

static const char *path_of(const char *name, const char *file)
{
	static __thread char path[PATH_MAX];

	snprintf(path, sizeof(path), GROUPS "/%s/%s", name, file);
	return path;
}

bool weather_group_put(const char *name, const char *file, const char *text)
{
	return weather_put(path_of(name, file), text);
}

long weather_group_number(const char *name, const char *file, const char *field)
{
	return weather_number(path_of(name, file), field);
}

bool weather_group_enter(const char *name, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	return weather_group_put(name, "cgroup.procs", text);
}

bool weather_group_make(const char *name, unsigned long bytes)
{
	char text[32];

	mkdir(GROUPS, 0755);
	if (mount("none", GROUPS, "cgroup2", 0, NULL) && errno != EBUSY)
		return false;
	if (bytes && !weather_put(GROUPS "/cgroup.subtree_control", "+memory"))
		return false;
	if (mkdir(path_of(name, ""), 0755) && errno != EEXIST)
		return false;
	snprintf(text, sizeof(text), "%lu", bytes);
	return !bytes || weather_group_put(name, "memory.max", text);
}

void weather_group_remove(const char *name)
{
	char line[32];
	FILE *file = fopen(path_of(name, "cgroup.procs"), "r");
	int i;

	while (file && fgets(line, sizeof(line), file))
		weather_put(GROUPS "/cgroup.procs", line);
	if (file)
		fclose(file);
	/* The control group cannot be removed while a process that has just ended is still in it, so retry. */
	for (i = 0; i < 100 && rmdir(path_of(name, "")) && errno == EBUSY; i++)
		usleep(20 * 1000);
	umount2(GROUPS, MNT_DETACH);
	rmdir(GROUPS);
}
