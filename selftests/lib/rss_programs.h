/* SPDX-License-Identifier: GPL-2.0 */
/* Real programs whose resident set is compared with what the kernel counts, and the differences that were found. */
#ifndef MASSIF_SELFTESTS_RSS_PROGRAMS_H
#define MASSIF_SELFTESTS_RSS_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define RSS_PROGRAMS 10

/* Writes the files that the programs read into the working directory. */
void rss_programs_prepare(void);

/* Removes these files. */
void rss_programs_forget(void);

const char *rss_programs_name(int program);

/*
 * Replaces this process, a child that was forked for it, by @program, which runs for a second or longer, with all of its
 * standard files connected to /dev/null. Does not return.
 */
void rss_programs_execute(int program) __attribute__((noreturn));

/* Stops the child @pid. Returns false if it has ended. */
bool rss_programs_stop(pid_t pid);

/* Returns the number of samples that a test has to take: MASSIF_RSS_SAMPLES in the environment, or @otherwise. */
size_t rss_programs_samples(size_t otherwise);

/* Returns the kilobytes on the line that begins with @word of /proc/PID/@name, in bytes; -1 if there is none. */
long long rss_programs_read(pid_t pid, const char *name, const char *word);

/* Differences between two figures, in bytes. */
struct rss_differences {
	long long *values;
	size_t n, room;
};

void rss_differences_add(struct rss_differences *differences, long long value);

/* Returns the distribution as text, valid until the next call. Sorts the differences, of which there is at least one. */
const char *rss_differences_print(struct rss_differences *differences);

void rss_differences_free(struct rss_differences *differences);

#endif
