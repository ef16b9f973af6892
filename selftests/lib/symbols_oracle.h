/* SPDX-License-Identifier: GPL-2.0 */
/* Runs Debian's valgrind on a program and reads its massif.out and the memory map of that run. */
#ifndef MASSIF_SELFTESTS_SYMBOLS_ORACLE_H
#define MASSIF_SELFTESTS_SYMBOLS_ORACLE_H

#include <stdbool.h>
#include <stddef.h>

#include "profile/object.h"

/* Returns whether valgrind is installed. */
bool oracle_present(void);

/*
 * Runs `valgrind --tool=massif @options... @program @argument` in the current directory, with its output in
 * "oracle.out". @options is NULL-terminated. Returns the exit status, or -1.
 */
int oracle_run(const char *const *options, const char *program, const char *argument);

/* The objects listed in a copy of /proc/PID/maps. The first one stands for code that belongs to no known object. */
struct oracle_map {
	struct mf_object *objects;
	size_t count;
};

bool oracle_map_read(struct oracle_map *map, const char *path);
void oracle_map_free(struct oracle_map *map);

/* Returns the frame of an address as shown in massif.out. */
struct mf_frame oracle_map_frame(const struct oracle_map *map, uint64_t pc);

#endif
