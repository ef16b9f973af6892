/* SPDX-License-Identifier: GPL-2.0 */
/* Runs massif-ctl or another program and collects its output. */
#ifndef MASSIF_SELFTESTS_CTL_RUN_H
#define MASSIF_SELFTESTS_CTL_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct ctl_result {
	int status; /* exit status in the format of waitpid(2) */
	pid_t pid;
	char *out, *err; /* standard output and error; never NULL after a run */
};

/* Returns $MASSIF_BUILD/massif-ctl. */
const char *ctl_path(void);

/*
 * Returns the reason why a test cannot run massif-ctl as user @uid, or NULL if it can. Only root can become another
 * user, and a build in a private directory is not accessible to others.
 */
const char *ctl_not_by(unsigned int uid);

/* Skips a test if it cannot run massif-ctl as user @uid. */
#define CTL_NEEDS_USER(uid) do {			\
	const char *ctl_why_not = ctl_not_by(uid);	\
							\
	if (ctl_why_not)				\
		SKIP(return, "%s", ctl_why_not);	\
} while (0)

/* Returns $MASSIF_BUILD/selftests/targets/@name, valid until the next call. */
const char *ctl_target(const char *name);

/*
 * Runs @argv, a NULL-terminated list, with "massif-ctl" as its first word replaced by ctl_path(). @input is the
 * standard input; NULL: empty. @before, unless NULL, is called in the child before the exec.
 */
void ctl_run(struct ctl_result *result, const char *input, void (*before)(void),
	     const char *const *argv);
void ctl_result_free(struct ctl_result *result);

#define CTL_RUN(result, ...) \
	ctl_run(result, NULL, NULL, (const char *const[]){ __VA_ARGS__, NULL })

/* Starts @argv without waiting for it. The child inherits the descriptors of the test. */
pid_t ctl_start(void (*before)(void), const char *const *argv);

/* Returns the exit status or, if a signal ended the program, 128 plus the signal number. */
int ctl_exit_code(const struct ctl_result *result);

/* Returns a file's contents in memory that the caller must free, or NULL if the file cannot be read. */
char *ctl_read_file(const char *path);

/*
 * Waits up to two minutes until a file contains @words. Returns its contents in memory that the caller must free, or NULL
 * if it does not contain them.
 */
char *ctl_await_words(const char *path, const char *words);

void ctl_write_file(const char *path, const char *text, mode_t mode);

/* Returns the text after the last @label in @text, or "" if there is no @label. */
const char *ctl_last(const char *text, const char *label);

/* Returns the number after the first @label in @text, or 0. */
unsigned long ctl_number(const char *text, const char *label);

/* Counts the files in the current directory whose names begin with @prefix; stores one of the names in @name. */
size_t ctl_find_files(const char *prefix, char name[256]);

/* Removes all files in the current directory whose names begin with @prefix. */
void ctl_remove_files(const char *prefix);

/*
 * Finds the first message in @err saying that a file was saved under a different name. Returns that name, which the
 * caller must free, or NULL if there is no such message.
 */
char *ctl_saved_file(const char *err);

/* Checks the structure of a massif.out file: header, snapshots numbered from 0, complete trees. */
bool ctl_is_massif_file(const char *text);

#endif
