// SPDX-License-Identifier: GPL-2.0
// Runs Debian's valgrind on a program and reads its massif.out and the memory map of that run.

#include "selftests/lib/symbols_oracle.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#define ARGUMENTS_MAX 32

bool oracle_present(void)
{
	return access("/usr/bin/valgrind", X_OK) == 0;
}

int oracle_run(const char *const *options, const char *program, const char *argument)
{
	const char *argv[ARGUMENTS_MAX] = {
		"valgrind", "-q", "--tool=massif", "--massif-out-file=oracle.out",
	};
	size_t n = 4;
	int status;
	pid_t pid;

	while (*options && n < ARGUMENTS_MAX - 3)
		argv[n++] = *options++;
	argv[n++] = program;
	argv[n++] = argument;
	pid = fork();
	if (pid == 0) {
		/* valgrind inherits stderr from the test. */
		execv("/usr/bin/valgrind", (char *const *)argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static bool is_position_independent(const char *path)
{
	mf_auto_fclose FILE *file = fopen(path, "re");
	Elf64_Ehdr header;

	return file && fread(&header, sizeof(header), 1, file) == 1 && header.e_type == ET_DYN;
}

/* Adds a mapping; adjacent mappings of a file become one object. */
static bool add_mapping(struct oracle_map *map, uint64_t start, uint64_t end, const char *path)
{
	struct mf_object *last = &map->objects[map->count - 1], *objects;

	if (last->path && strcmp(last->path, path) == 0) {
		last->end = end;
		return true;
	}
	objects = reallocarray(map->objects, map->count + 1, sizeof(*objects));
	if (!objects)
		return false;
	map->objects = objects;
	objects[map->count++] = (struct mf_object){
		.kind = MF_OBJECT_FILE,
		.start = start,
		.end = end,
		.bias = is_position_independent(path) ? start : 0,
		.path = strdup(path),
	};
	return true;
}

bool oracle_map_read(struct oracle_map *map, const char *path)
{
	mf_auto_fclose FILE *file = fopen(path, "re");
	char line[4096 + 256];

	map->objects = calloc(1, sizeof(*map->objects));
	map->count = 1;
	if (!file || !map->objects)
		return false;
	while (fgets(line, sizeof(line), file)) {
		char name[4096] = "";
		uint64_t start, end;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %*s %4095s", &start, &end,
			   name) != 3 || name[0] != '/')
			continue;
		if (!add_mapping(map, start, end, name))
			return false;
	}
	return map->count > 1;
}

void oracle_map_free(struct oracle_map *map)
{
	for (size_t i = 0; i < map->count; i++)
		free((char *)map->objects[i].path);
	free(map->objects);
}

struct mf_frame oracle_map_frame(const struct oracle_map *map, uint64_t pc)
{
	for (size_t i = 1; i < map->count; i++) {
		if (pc >= map->objects[i].start && pc < map->objects[i].end)
			return (struct mf_frame){ pc, (uint32_t)i };
	}
	return (struct mf_frame){ pc, 0 };
}
