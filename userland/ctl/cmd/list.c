// SPDX-License-Identifier: GPL-2.0
// massif-ctl list: lists the running profiles.

#include <inttypes.h>
#include <stdio.h>

#include "base/standard_output.h"
#include "ctl/control/client.h"
#include "command.h"
#include "ctl/message/message.h"

int mf_command_list(int argc, char **argv)
{
	__attribute__((cleanup(mf_ask_free))) struct mf_profiled_list list = { 0 };
	struct mf_error err;

	if (argc) {
		mf_message_say(MF_MESSAGE_ERROR, "list takes no arguments");
		return 1;
	}
	if (mf_ask_list(&list, MF_ASK_PATIENCE_MS, &err)) {
		mf_message_say(MF_MESSAGE_ERROR, "%s", err.text);
		return 1;
	}
	mf_ask_say_silent(&list);
	if (list.count)
		printf("%8s %-6s %15s %10s  %s\n", "PID", "MODE", "BYTES", "SECONDS", "COMMAND");
	for (size_t i = 0; i < list.count; i++) {
		const struct mf_profiled *item = &list.items[i];

		printf("%8d %-6s %15" PRIu64 " %10.1f  %s\n", (int)item->pid, item->mode,
		       item->bytes, (double)item->ms / 1000, item->cmd);
	}
	if (mf_standard_output_finish(&err)) {
		mf_message_say(MF_MESSAGE_ERROR, "%s", err.text);
		return 1;
	}
	if (!list.count)
		mf_message_say(MF_MESSAGE_NOTE, "no profile is running");
	return 0;
}
