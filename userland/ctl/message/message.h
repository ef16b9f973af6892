/* SPDX-License-Identifier: GPL-2.0 */
/* Prints messages for the user to standard error or to a log. */
#ifndef MASSIF_CTL_MESSAGE_H
#define MASSIF_CTL_MESSAGE_H

#include <sys/types.h>

/*
 * The level of a message. The selected level starts at 1; each -v raises it by one, and each -q lowers it by one.
 * Errors are always printed; problems are printed unless the selected level is negative.
 */
enum mf_message_level {
	MF_MESSAGE_ERROR = -100,
	MF_MESSAGE_PROBLEM = 0, /* the profile may not be what the user expects */
	MF_MESSAGE_NOTE = 1,
	MF_MESSAGE_DETAIL = 2,
	MF_MESSAGE_STEPS = 3, /* the level of the messages about each snapshot */
	MF_MESSAGE_EVENTS = 4, /* heap mode only: the level of the messages about each allocation and free */
	/* heap mode only: the level of the messages that say which functions are removed from each stack */
	MF_MESSAGE_FILTERING = 5,
};

void mf_message_set_level(int level);

/* Returns whether messages of @level are printed. */
int mf_message_is_heard(enum mf_message_level level);

/* Sends messages to descriptor @fd, which the caller still owns. */
void mf_message_set_target(int fd);
int mf_message_target(void); /* the descriptor to which messages are printed; -1 until the message file is created */

/*
 * Sends messages to the file @path, which is created with mode 0600 for the first message that reports a problem or was
 * requested by -v or --stats. Messages before that are dropped. The string @path must stay valid.
 */
void mf_message_set_late_target(const char *path);

/* Prints the text if @level does not exceed the selected level. Each line begins with `massif-ctl: `. */
void mf_message_say(enum mf_message_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * On a terminal, and without -q, prints a progress line for @what, which replaces the previous one and is removed when
 * @done reaches @total.
 */
void mf_message_progress(const char *what, size_t done, size_t total);

/*
 * On a terminal, and without -q, shows @text in a line that replaces the previous one and is removed before the next
 * message, or if @text is NULL. Shows nothing if that would make this process wait: if the terminal is stopped (Ctrl-S), or
 * if this process is in the background.
 */
void mf_message_status(const char *text);

/* Prints a line about process @pid in Massif's format, beginning with `--PID-- Massif: `. */
void mf_message_massif(pid_t pid, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
