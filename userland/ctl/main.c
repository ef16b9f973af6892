// SPDX-License-Identifier: GPL-2.0
// massif-ctl: finds the verb. Without one it is `run`.

#include <string.h>

#include "ctl/command.h"
#include "ctl/launch.h"

const struct mf_command mf_commands[] = {
	{ "run", "run [options] [--] program arguments...", "profile a program from its start",
	  mf_command_run },
	{ "help", "help", "print this text", mf_command_help },
	{ "version", "version", "print the version", mf_command_version },
};

const unsigned int mf_n_commands = sizeof(mf_commands) / sizeof(mf_commands[0]);

int main(int argc, char **argv)
{
	mf_launch_reserve_standard();
	for (unsigned int i = 0; argc > 1 && i < mf_n_commands; i++) {
		if (strcmp(argv[1], mf_commands[i].name) == 0)
			return mf_commands[i].run(argc - 2, argv + 2);
	}
	return mf_command_run(argc > 0 ? argc - 1 : 0, argc > 0 ? argv + 1 : argv);
}
