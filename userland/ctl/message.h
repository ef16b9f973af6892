/* SPDX-License-Identifier: GPL-2.0 */
/* What massif-ctl tells its user: lines on standard error, each with its name in front. */
#ifndef MASSIF_CTL_MESSAGE_H
#define MASSIF_CTL_MESSAGE_H

/*
 * How much is said: 1, one more for each -v, one less for each -q. Errors are always said, and
 * problems unless it is below 0.
 */
enum mf_message_level {
	MF_MESSAGE_ERROR = -100,
	MF_MESSAGE_PROBLEM = 0, /* the profile is not what one may expect */
	MF_MESSAGE_NOTE = 1,
	MF_MESSAGE_DETAIL = 2,
};

void mf_message_set_level(int level);

/* Prints the text if @level is not above the level set; each line of it gets `massif-ctl: `. */
void mf_message_say(enum mf_message_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
