// SPDX-License-Identifier: GPL-2.0
// massif-ctl: finds the verb. Without one it is `run`.

#include <stdbool.h>
#include <string.h>

#include "ctl/command.h"
#include "ctl/launch.h"

const struct mf_command mf_commands[] = {
	{ "run", "run [options] [--] program arguments...", "profile a program from its start",
	  mf_command_run },
	{ "attach", "attach PID [--duration S] [options]", "profile the pages of a running process",
	  mf_command_attach },
	{ "list", "list", "the profiles that grow now", mf_command_list },
	{ "snapshot", "snapshot [--pid PID] [file]", "a snapshot of a profile that grows",
	  mf_command_snapshot },
	{ "detailed_snapshot", "detailed_snapshot [--pid PID] [file]", "the same with its tree",
	  mf_command_detailed_snapshot },
	{ "all_snapshots", "all_snapshots [--pid PID] [file]", "its file as it would be now",
	  mf_command_all_snapshots },
	{ "xtmemory", "xtmemory [--pid PID] [file]", "an execution tree of its live blocks",
	  mf_command_xtmemory },
	{ "doctor", "doctor [--mode=heap|pages|all]", "what works here, and what to do for the rest",
	  mf_command_doctor },
	{ "help", "help", "print this text", mf_command_help },
	{ "version", "version", "print the version", mf_command_version },
};

/* These have options of their own, and take --help as one. */
static bool has_options(const struct mf_command *command)
{
	return command->run == mf_command_run || command->run == mf_command_attach;
}

static bool is_help(const char *word)
{
	return word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0);
}

const unsigned int mf_n_commands = sizeof(mf_commands) / sizeof(mf_commands[0]);

int main(int argc, char **argv)
{
	mf_launch_reserve_standard();
	for (unsigned int i = 0; argc > 1 && i < mf_n_commands; i++) {
		const struct mf_command *command = &mf_commands[i];

		if (strcmp(argv[1], command->name))
			continue;
		return !has_options(command) && is_help(argv[2]) ? mf_command_explain(command) :
								   command->run(argc - 2, argv + 2);
	}
	return mf_command_run(argc > 0 ? argc - 1 : 0, argc > 0 ? argv + 1 : argv);
}
