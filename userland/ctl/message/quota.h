/* SPDX-License-Identifier: GPL-2.0 */
/* Limits how many messages of one kind are printed, so that a program cannot fill a disk with massif-ctl's messages. */
#ifndef MASSIF_CTL_QUOTA_H
#define MASSIF_CTL_QUOTA_H

#include <stdbool.h>

#include "message.h"

/* The number of messages of one kind in this run. Initialise it to zero. */
struct mf_message_quota {
	unsigned int n;
};

/*
 * Counts one more message of @level, unless messages of @level are not printed anyway. Returns whether the message is
 * within the limit. In place of the first message that exceeds the limit, prints that further messages about @what are
 * left out.
 */
bool mf_message_quota_take(struct mf_message_quota *quota, enum mf_message_level level, const char *what);

#endif
