// SPDX-License-Identifier: GPL-2.0
// massif-ctl record: massif-ctl run with --record.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "command.h"
#include "ctl/message/message.h"

int mf_command_record(int argc, char **argv)
{
	static char option[] = "--record";
	mf_auto_free char **words = calloc((size_t)argc + 2, sizeof(*words));

	if (!words) {
		mf_message_say(MF_MESSAGE_ERROR, "out of memory");
		return 1;
	}
	/* It comes first, so that --record=FILE can name another file. */
	words[0] = option;
	memcpy(words + 1, argv, (size_t)argc * sizeof(*words));
	return mf_command_run(argc + 1, words);
}
