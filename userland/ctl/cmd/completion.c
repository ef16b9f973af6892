// SPDX-License-Identifier: GPL-2.0
// massif-ctl completion: prints a script that completes the words of massif-ctl in a shell.

#include <string.h>

#include "base/standard_output.h"
#include "command.h"
#include "ctl/completion/shells.h"
#include "ctl/message/message.h"

int mf_command_completion(int argc, char **argv)
{
	const struct mf_shell *shell = mf_shells;
	struct mf_error err;

	while (argc == 1 && shell->name && strcmp(shell->name, argv[0]) != 0)
		shell++;
	if (argc != 1 || !shell->name) {
		mf_message_say(MF_MESSAGE_ERROR, "completion takes the name of a shell: bash, zsh or fish");
		return 1;
	}
	if (shell->write(stdout)) {
		mf_message_say(MF_MESSAGE_ERROR, "out of memory");
		return 1;
	}
	if (mf_standard_output_finish(&err)) {
		mf_message_say(MF_MESSAGE_ERROR, "%s", err.text);
		return 1;
	}
	return 0;
}
