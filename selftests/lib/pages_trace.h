/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs massif-ctl under ptrace, and reads /proc/PID/maps of all processes at moments, for which they
 * are stopped, and as they exit.
 */
#ifndef SELFTESTS_PAGES_TRACE_H
#define SELFTESTS_PAGES_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct trace_range {
	uint64_t start, end;
};

/* What was mapped, adjacent mappings joined, without [vsyscall]. */
struct trace_maps {
	pid_t pid;
	unsigned int moment; /* counts from 1 over all processes; 0: the process's end */
	size_t n_ranges;
	struct trace_range *ranges;
	uint64_t pages;
	uint64_t size; /* of /proc/PID/statm, pages: total_vm. Not in what trace_read_dump() returns */
	/* Only in what trace_read_dump() returns: the figures of its first line. */
	uint64_t model_pages, kernel_pages, lost, mismatches;
};

struct trace_set {
	size_t n_maps;
	struct trace_maps *maps;
	unsigned int n_moments;
};

/*
 * Runs @argv, massif-ctl and its arguments, with its standard input from @in (NULL: as it is) and
 * its standard output in the file @out. Returns its status as of waitpid(2), or -1.
 *
 * At the 16th, 32nd, 64th, ... system call of each process that executed a program, and of what it
 * forks, all its threads are stopped, its maps are read, and massif-ctl is asked for a dump to
 * @dump, which is its MASSIF_DUMP_INTERVALS. The first moment is at the start, then, before the
 * end comes, there is always one in the later half of the calls.
 *
 * *@set, to be freed by trace_set_free, has the maps of each process that exited and of all moments.
 */
int trace_run(char *const *argv, const char *in, const char *out, const char *dump,
	      struct trace_set *set);

/* Reads a file of MASSIF_DUMP_INTERVALS. Returns 0 or -1. */
int trace_read_dump(const char *path, struct trace_set *set);

void trace_set_free(struct trace_set *set);

/* The maps of @pid at @moment, or NULL. */
const struct trace_maps *trace_find(const struct trace_set *set, pid_t pid, unsigned int moment);

bool trace_maps_equal(const struct trace_maps *a, const struct trace_maps *b);

#endif
