/* SPDX-License-Identifier: GPL-2.0 */
/* Runs a command under ptrace and reads /proc/PID/maps of all its processes as they exit. */
#ifndef SELFTESTS_PAGES_TRACE_H
#define SELFTESTS_PAGES_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct trace_range {
	uint64_t start, end;
};

/* What was mapped in the end, adjacent mappings joined, without [vsyscall]. */
struct trace_maps {
	pid_t pid;
	size_t n_ranges;
	struct trace_range *ranges;
	uint64_t pages;
	/* Only in what trace_read_dump() returns: the figures of its first line. */
	uint64_t model_pages, kernel_pages, lost, mismatches;
};

struct trace_set {
	size_t n_maps;
	struct trace_maps *maps;
};

/*
 * Runs @argv with its standard output in the file @out. Returns its status as of waitpid(2), or -1.
 * *@set, to be freed by trace_set_free, has the maps of each process that exited.
 */
int trace_run(char *const *argv, const char *out, struct trace_set *set);

/* Reads a file of MASSIF_DUMP_INTERVALS. Returns 0 or -1. */
int trace_read_dump(const char *path, struct trace_set *set);

void trace_set_free(struct trace_set *set);

/* The maps of @pid, or NULL. */
const struct trace_maps *trace_find(const struct trace_set *set, pid_t pid);

bool trace_maps_equal(const struct trace_maps *a, const struct trace_maps *b);

#endif
