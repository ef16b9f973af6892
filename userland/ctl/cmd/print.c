// SPDX-License-Identifier: GPL-2.0
// massif-ctl print: runs the ms_print that is installed with massif-ctl.

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "command.h"
#include "ctl/launch/shim.h"
#include "ctl/message/message.h"

/* Where there are both, ms_print is Valgrind's. */
static const char *const names[] = { "massif-print", "ms_print" };

int mf_command_print(int argc, char **argv)
{
	mf_auto_free char **words = calloc((size_t)argc + 2, sizeof(*words));
	char directory[PATH_MAX], path[PATH_MAX + 16];
	struct mf_error err;

	if (!words || mf_shim_own_directory(directory, &err)) {
		mf_message_say(MF_MESSAGE_ERROR, "%s", words ? err.text : "out of memory");
		return 1;
	}
	memcpy(words + 1, argv, (size_t)argc * sizeof(*words));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		words[0] = (char *)names[i];
		execv(path, words);
		if (errno != ENOENT)
			break;
	}
	mf_message_say(MF_MESSAGE_ERROR, "cannot run %s: %s", path, strerror(errno));
	return 1;
}
