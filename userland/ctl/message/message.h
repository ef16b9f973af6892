/* SPDX-License-Identifier: GPL-2.0 */
/* Prints messages for the user on standard error or in a log. */
#ifndef MASSIF_CTL_MESSAGE_H
#define MASSIF_CTL_MESSAGE_H

#include <sys/types.h>

/*
 * The level of a message. The level set is 1, one more for each -v, one less for each -q. Errors are always
 * printed, and problems unless the level is negative.
 */
enum mf_message_level {
	MF_MESSAGE_ERROR = -100,
	MF_MESSAGE_PROBLEM = 0, /* the profile is not what the user may expect */
	MF_MESSAGE_NOTE = 1,
	MF_MESSAGE_DETAIL = 2,
	MF_MESSAGE_STEPS = 3, /* log lines about snapshots */
	MF_MESSAGE_EVENTS = 4, /* log lines about each allocation and free, in heap mode */
	MF_MESSAGE_FILTERING = 5, /* log lines about functions removed from stacks, in heap mode */
};

void mf_message_set_level(int level);

/* Returns whether messages of @level are printed. */
int mf_message_is_heard(enum mf_message_level level);

/* Sends messages to descriptor @fd, which stays the caller's. */
void mf_message_set_target(int fd);
int mf_message_target(void); /* -1: a file that is not created yet */

/*
 * Sends messages to the file @path, which is created with mode 0600 when the first message arrives that reports
 * a problem, or was requested by -v or --stats. Earlier messages are dropped. The string @path must stay valid.
 */
void mf_message_set_late_target(const char *path);

/* Prints the text if @level is not above the level set. Each line begins with `massif-ctl: `. */
void mf_message_say(enum mf_message_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * On a terminal, and without -q, prints a line with the progress of @what that replaces the previous one; it is
 * removed when everything is done.
 */
void mf_message_progress(const char *what, size_t done, size_t total);

/* Prints a line about process @pid in Massif's format, beginning with `--PID-- Massif: `. */
void mf_message_tell(pid_t pid, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
