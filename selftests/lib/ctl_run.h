/* SPDX-License-Identifier: GPL-2.0 */
/* Runs massif-ctl, or any other program, and keeps what it said. */
#ifndef SELFTESTS_LIB_CTL_RUN_H
#define SELFTESTS_LIB_CTL_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct ctl_result {
	int status; /* as of waitpid(2) */
	pid_t pid;
	char *out, *err; /* never NULL after a run */
};

/* $MASSIF_BUILD/massif-ctl. */
const char *ctl_path(void);

/*
 * Why a test cannot run massif-ctl as another user, whose number is @uid: only root can become another
 * user, and who has built in a private folder cannot let others in. NULL: it can.
 */
const char *ctl_not_by(unsigned int uid);

/* $MASSIF_BUILD/selftests/targets/@name. Static storage of the last call. */
const char *ctl_target(const char *name);

/*
 * Runs @argv, a NULL-terminated list, in which "massif-ctl" as the first word stands for ctl_path().
 * Its standard input is @input (NULL: empty). @before, if not NULL, is called in the child.
 */
void ctl_run(struct ctl_result *result, const char *input, void (*before)(void),
	     const char *const *argv);
void ctl_result_free(struct ctl_result *result);

#define CTL_RUN(result, ...) \
	ctl_run(result, NULL, NULL, (const char *const[]){ __VA_ARGS__, NULL })

/* Starts it with the descriptors of this process and does not wait. */
pid_t ctl_start(void (*before)(void), const char *const *argv);

/* The exit status, or 128 + the signal. */
int ctl_exit_code(const struct ctl_result *result);

/* The text of a file, to be freed; NULL if it cannot be read. */
char *ctl_read_file(const char *path);
void ctl_write_file(const char *path, const char *text, mode_t mode);

/* What stands behind the last @label of @text; "" if there is none. */
const char *ctl_last(const char *text, const char *label);

/* The number behind the first @label of @text, or 0. */
unsigned long ctl_number(const char *text, const char *label);

/* How many files of the current directory begin with @prefix; the name of one is put to @name. */
size_t ctl_find_files(const char *prefix, char name[256]);

/* Removes every file of the current directory that begins with @prefix. */
void ctl_remove_files(const char *prefix);

/* The file that a message says was saved instead of another, the first in @err; to be freed; NULL: none. */
char *ctl_saved_file(const char *err);

/* Does a massif.out file hold together: header, snapshots numbered from 0, trees complete? */
bool ctl_is_massif_file(const char *text);

#endif
