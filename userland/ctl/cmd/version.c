// SPDX-License-Identifier: GPL-2.0
// massif-ctl version: prints the version.

#include <stdio.h>

#include "base/standard_output.h"
#include "command.h"
#include "ctl/message/message.h"

int mf_command_version(int argc, char **argv)
{
	struct mf_error err;

	if (argc) {
		mf_message_say(MF_MESSAGE_ERROR, "version takes no arguments");
		return 1;
	}
	printf("massif-ctl %s\n", MASSIF_VERSION);
	if (mf_standard_output_finish(&err)) {
		mf_message_say(MF_MESSAGE_ERROR, "%s", err.text);
		return 1;
	}
	return 0;
}
