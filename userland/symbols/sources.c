// SPDX-License-Identifier: GPL-2.0
// The files that an object's names depend on, and whether they have changed.

#include "symbols/sources.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int64_t ns_of(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

static struct mf_source look(const char *path)
{
	struct stat status;

	if (stat(path, &status))
		return (struct mf_source){ 0 };
	return (struct mf_source){
		.inode = status.st_ino,
		.size = (uint64_t)status.st_size,
		.modified_ns = ns_of(&status.st_mtim),
		.changed_ns = ns_of(&status.st_ctim),
	};
}

void mf_sources_add(struct mf_sources *sources, const char *path)
{
	char *copy = sources->count < MF_SOURCES_MAX ? strdup(path) : NULL;

	if (!copy) {
		sources->others = true;
		return;
	}
	sources->files[sources->count] = look(path);
	sources->paths[sources->count++] = copy;
}

void mf_sources_deinit(struct mf_sources *sources)
{
	for (uint32_t i = 0; i < sources->count; i++)
		free((char *)sources->paths[i]);
	*sources = (struct mf_sources){ 0 };
}

bool mf_sources_are_same(const struct mf_sources *a, const struct mf_sources *b)
{
	if (a->count != b->count || a->others || b->others)
		return false;
	for (uint32_t i = 0; i < a->count; i++) {
		if (strcmp(a->paths[i], b->paths[i]) != 0 ||
		    memcmp(&a->files[i], &b->files[i], sizeof(a->files[i])) != 0)
			return false;
	}
	return true;
}

bool mf_sources_are_still(const struct mf_sources *sources)
{
	for (uint32_t i = 0; i < sources->count; i++) {
		const struct mf_source now = look(sources->paths[i]);

		if (memcmp(&sources->files[i], &now, sizeof(now)) != 0)
			return false;
	}
	return !sources->others;
}
