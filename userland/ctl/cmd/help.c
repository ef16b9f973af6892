// SPDX-License-Identifier: GPL-2.0
// massif-ctl help: lists the commands and options, or explains one command.

#include <stdio.h>
#include <string.h>

#include "base/standard_output.h"
#include "command.h"
#include "ctl/message/message.h"
#include "ctl/options/options.h"

static int finish(void)
{
	struct mf_error err;

	if (mf_standard_output_finish(&err)) {
		mf_message_say(MF_MESSAGE_ERROR, "%s", err.text);
		return 1;
	}
	return 0;
}

static void print_options(void)
{
	printf("\n  options (defaults in brackets):\n");
	mf_options_print_help(stdout);
}

static const struct mf_command *find(const char *name)
{
	for (unsigned int i = 0; i < mf_n_commands; i++)
		if (strcmp(mf_commands[i].name, name) == 0)
			return &mf_commands[i];
	return NULL;
}

int mf_command_explain(const char *name)
{
	const struct mf_command *command = find(name);

	printf("usage: massif-ctl %s\n\n  %s\n", command->usage, command->summary);
	if (command->details)
		printf("\n%s", command->details);
	if (command->has_options)
		print_options();
	else
		printf("\n  massif-ctl --help lists the other commands.\n");
	return finish();
}

static int refuse(const char *word)
{
	const char *name = mf_command_nearest(word);

	if (name)
		mf_message_say(MF_MESSAGE_ERROR, "help: there is no command '%.400s'\nDid you mean '%s'?", word, name);
	else
		mf_message_say(MF_MESSAGE_ERROR, "help: there is no command '%.400s'", word);
	return 1;
}

int mf_command_help(int argc, char **argv)
{
	if (argc > 1) {
		mf_message_say(MF_MESSAGE_ERROR, "help takes one command");
		return 1;
	}
	if (argc && !find(argv[0]))
		return refuse(argv[0]);
	/* run has no help of its own, like run --help. */
	if (argc && find(argv[0])->run != mf_command_run)
		return mf_command_explain(argv[0]);
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
