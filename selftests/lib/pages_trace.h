/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs massif-ctl under ptrace, and reads /proc/PID/maps of all its processes at selected points in the run and at
 * exit. A process is stopped while its maps are read.
 */
#ifndef MASSIF_SELFTESTS_PAGES_TRACE_H
#define MASSIF_SELFTESTS_PAGES_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct trace_range {
	uint64_t start, end;
};

/* The mappings of a process, without [vsyscall]; adjacent mappings are joined. */
struct trace_maps {
	pid_t pid;
	/*
	 * number of the point in the run at which the maps were read, counting from 1 across all processes; 0: they
	 * were read when the process exited
	 */
	unsigned int moment;
	size_t n_ranges;
	struct trace_range *ranges;
	uint64_t pages;
	uint64_t size; /* total_vm in pages, from /proc/PID/statm; not set by trace_read_dump() */
	/* Numbers from a process's first line in a dump written by massif-ctl. Only trace_read_dump() sets them. */
	uint64_t model_pages, kernel_pages, lost, mismatches;
};

struct trace_set {
	size_t n_maps;
	struct trace_maps *maps;
	unsigned int n_moments;
};

/*
 * Runs @argv, massif-ctl and its arguments, with standard input from @in (NULL: inherited) and standard output to the
 * file @out. Returns its status in the format of waitpid(2), or -1.
 *
 * Each process that has executed a program, and each process forked by it, is stopped at certain points: at its 16th,
 * 32nd, 64th, ... system call. At each point, all threads of the process are stopped, its maps are read, and massif-ctl
 * is asked to write the mappings known to it to @dump, the file named by $MASSIF_DUMP_INTERVALS. Because the numbers
 * double, one point comes early in the process's life, and another comes in the second half of its system calls.
 *
 * *@set is set to the maps of each process at its exit and at all these points. Free it with trace_set_free().
 */
int trace_run(char *const *argv, const char *in, const char *out, const char *dump,
	      struct trace_set *set);

/* Reads a dump that massif-ctl has written to the file $MASSIF_DUMP_INTERVALS. Returns 0 or -1. */
int trace_read_dump(const char *path, struct trace_set *set);

void trace_set_free(struct trace_set *set);

/*
 * Returns the maps in @set that were read from process @pid at point number @moment (0: at the process's exit), or NULL
 * if there are none.
 */
const struct trace_maps *trace_find(const struct trace_set *set, pid_t pid, unsigned int moment);

bool trace_maps_equal(const struct trace_maps *a, const struct trace_maps *b);

#endif
