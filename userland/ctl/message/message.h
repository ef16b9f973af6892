/* SPDX-License-Identifier: GPL-2.0 */
/* What massif-ctl tells its user, on standard error or in a log. */
#ifndef MASSIF_CTL_MESSAGE_H
#define MASSIF_CTL_MESSAGE_H

#include <sys/types.h>

/*
 * How much is said: 1, one more for each -v, one less for each -q. Errors are always said, and
 * problems unless it is below 0.
 */
enum mf_message_level {
	MF_MESSAGE_ERROR = -100,
	MF_MESSAGE_PROBLEM = 0, /* the profile is not what one may expect */
	MF_MESSAGE_NOTE = 1,
	MF_MESSAGE_DETAIL = 2,
	MF_MESSAGE_STEPS = 3, /* what happens to snapshots */
	MF_MESSAGE_EVENTS = 4, /* each allocation and free, in heap mode */
	MF_MESSAGE_FILTERING = 5, /* what is left out of each stack, in heap mode */
};

void mf_message_set_level(int level);

/* Whether the level set is @level at least. */
int mf_message_is_heard(enum mf_message_level level);

/* From now on messages go to descriptor @fd, which stays the caller's. */
void mf_message_set_target(int fd);
int mf_message_target(void); /* -1: a file that is not there yet */

/*
 * From now on messages go to the file @path, which is created, with mode 0600, for the first message that
 * says what is wrong, or that was asked for with -v or --stats. What comes before is not kept. @path must
 * stay.
 */
void mf_message_set_late_target(const char *path);

/* Prints the text if @level is not above the level set; each line of it gets `massif-ctl: `. */
void mf_message_say(enum mf_message_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * On a terminal, and unless -q was given: one line that tells how much of @what is done, in the place
 * of the one before; when all is done the line goes away.
 */
void mf_message_progress(const char *what, size_t done, size_t total);

/* Prints one line of a tool about process @pid, as Massif has it: after `--PID-- Massif: `. */
void mf_message_tell(pid_t pid, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
