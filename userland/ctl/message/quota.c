// SPDX-License-Identifier: GPL-2.0
// Limits how many messages of one kind are printed.

#include "quota.h"

enum {
	ALIKE_MAX = 100, /* maximum number of messages of one kind */
};

bool mf_message_quota_take(struct mf_message_quota *quota, enum mf_message_level level, const char *what)
{
	if (!mf_message_is_heard(level))
		return true;
	if (quota->n > ALIKE_MAX)
		return false;
	if (quota->n++ < ALIKE_MAX)
		return true;
	mf_message_say(level, "further messages about %s are left out", what);
	return false;
}
