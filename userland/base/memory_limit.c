// SPDX-License-Identifier: GPL-2.0
// Keeps a file that needs too much memory from taking all of the machine's.

#include "base/memory_limit.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Libraries take address space without taking memory. */
#define LEAST (128ull << 20)

static bool is_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return true;
#elif defined(__has_feature)
	return __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
	return false;
#endif
}

/* Reads a limit from a file of a cgroup: a number of bytes, or "max" for none. */
static uint64_t read_limit(const char *path)
{
	mf_auto_fclose FILE *file = fopen(path, "re");
	unsigned long long limit;
	char text[32], *end;

	if (!file || !fgets(text, sizeof(text), file) || *text < '0' || *text > '9')
		return UINT64_MAX;
	errno = 0;
	limit = strtoull(text, &end, 10);
	return errno || (*end && *end != '\n') ? UINT64_MAX : limit;
}

/* Returns the lowest limit of the cgroup @group below @mount/@hierarchy and of all above it. Shortens @group. */
static uint64_t lowest_limit(const char *mount, const char *hierarchy, char *group, const char *name)
{
	uint64_t lowest = UINT64_MAX;
	char path[PATH_MAX];

	for (;;) {
		char *last = strrchr(group, '/');
		int size = snprintf(path, sizeof(path), "%s%s%s/%s", mount, hierarchy, group, name);
		uint64_t limit = size > 0 && (size_t)size < sizeof(path) ? read_limit(path) : UINT64_MAX;

		lowest = limit < lowest ? limit : lowest;
		if (!last)
			return lowest;
		*last = '\0';
	}
}

static bool has_memory(const char *controllers)
{
	const char *at = strstr(controllers, "memory");

	return at && (at == controllers || at[-1] == ',') && (!at[6] || at[6] == ',');
}

/* Reads a line such as "0::/a/b" or, of the first version of cgroups, "7:cpu,memory:/a/b". */
static uint64_t limit_of_line(char *line, const char *mount)
{
	char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
	uint64_t unified, hybrid;
	mf_auto_free char *copy = NULL;

	if (!group)
		return UINT64_MAX;
	*controllers++ = *group++ = '\0';
	group[strcspn(group, "\n")] = '\0';
	/* A cgroup outside of the namespace has a path that begins with "/..". The kernel has no longer paths than this. */
	if (strstr(group, "/..") || strlen(group) >= PATH_MAX)
		return UINT64_MAX;
	if (*controllers)
		return has_memory(controllers) ? lowest_limit(mount, "/memory", group, "memory.limit_in_bytes") :
						 UINT64_MAX;
	copy = strdup(group);
	unified = lowest_limit(mount, "", group, "memory.max");
	hybrid = copy ? lowest_limit(mount, "/unified", copy, "memory.max") : UINT64_MAX;
	return unified < hybrid ? unified : hybrid;
}

uint64_t mf_memory_limit_of_cgroups(const char *list, const char *mount)
{
	mf_auto_fclose FILE *file = fopen(list, "re");
	uint64_t lowest = UINT64_MAX;
	mf_auto_free char *line = NULL;
	size_t room = 0;

	while (file && getline(&line, &room, file) > 0) {
		uint64_t limit = limit_of_line(line, mount);

		lowest = limit < lowest ? limit : lowest;
	}
	return lowest;
}

void mf_memory_limit(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	struct rlimit limit;
	rlim_t most, limit_of_cgroups;

	if (is_sanitized() || pages <= 0 || size <= 0 || getrlimit(RLIMIT_AS, &limit))
		return;
	most = (rlim_t)pages / 2 * (rlim_t)size;
	limit_of_cgroups = mf_memory_limit_of_cgroups("/proc/self/cgroup", "/sys/fs/cgroup") / 2;
	if (limit_of_cgroups < most)
		most = limit_of_cgroups > LEAST ? limit_of_cgroups : LEAST;
	if (limit.rlim_cur <= most)
		return;
	limit.rlim_cur = most;
	setrlimit(RLIMIT_AS, &limit);
}
