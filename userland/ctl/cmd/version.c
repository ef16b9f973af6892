// SPDX-License-Identifier: GPL-2.0
// massif-ctl version: prints the version.

#include <stdio.h>

#include "command.h"
#include "ctl/message/message.h"

int mf_command_version(int argc, char **argv)
{
	if (argc) {
		mf_message_say(MF_MESSAGE_ERROR, "version takes no arguments");
		return 1;
	}
	printf("massif-ctl %s\n", MASSIF_VERSION);
	if (fflush(stdout)) {
		mf_message_say(MF_MESSAGE_ERROR, "cannot write to standard output");
		return 1;
	}
	return 0;
}
