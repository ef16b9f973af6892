// SPDX-License-Identifier: GPL-2.0
// massif-ctl help: lists the commands and options.

#include <stdio.h>
#include <string.h>

#include "command.h"
#include "ctl/message/message.h"
#include "ctl/options/options.h"

static int finish(void)
{
	if (fflush(stdout)) {
		mf_message_say(MF_MESSAGE_ERROR, "cannot write to standard output");
		return 1;
	}
	return 0;
}

static void print_options(void)
{
	printf("\n  options (defaults in brackets):\n");
	mf_options_print_help(stdout);
}

int mf_command_explain(const char *name)
{
	const struct mf_command *command = mf_commands;

	while (strcmp(command->name, name) != 0)
		command++;
	printf("usage: massif-ctl %s\n\n  %s\n", command->usage, command->summary);
	if (command->details)
		printf("\n%s", command->details);
	if (command->has_options)
		print_options();
	else
		printf("\n  massif-ctl --help lists the other commands.\n");
	return finish();
}

int mf_command_help(int argc, char **argv)
{
	printf("Profiles how much memory a program uses over time, and which code allocated it.\n"
	       "ms_print turns the resulting file into a report.\n\n");
	for (unsigned int i = 0; i < mf_n_commands; i++)
		printf("%s massif-ctl %-42s %s\n", i ? "      " : "usage:", mf_commands[i].usage,
		       mf_commands[i].summary);
	printf("       massif-ctl %-42s same as run\n", "[options] [--] program arguments...");
	printf("\n  massif-ctl show --help explains show, and so on for each command.\n");
	printf("\n  options of run and record (defaults in brackets):\n");
	mf_options_print_help(stdout);
	return finish();
}
