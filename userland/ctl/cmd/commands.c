// SPDX-License-Identifier: GPL-2.0
// The table of massif-ctl's verbs.

#include "command.h"

#include <stdbool.h>
#include <string.h>

/* Of the verbs that look at a profile that grows. */
#define SNAPSHOT_DETAILS(file)                                                                     \
	"  Writes it to the file, " file " by default, or to standard output if the file is -.\n"  \
	"  --pid chooses one of several profiles; massif-ctl list shows them. The program and its\n" \
	"  own profile go on unchanged.\n"

const struct mf_command mf_commands[] = {
	{ "run", "run [options] [--] program arguments...", "profile a program from its start",
	  mf_command_run, .has_options = true },
	{ "attach", "attach PID [--duration S] [options]", "profile the pages of a running process",
	  mf_command_attach,
	  "  Records how the memory mappings of process PID change, with the call stacks, from now on. What\n"
	  "  was mapped before is there from the first snapshot, without its stacks. Recording ends after\n"
	  "  S seconds (--duration), at Ctrl-C or SIGTERM, or with the process; the process goes on. The file,\n"
	  "  massif.out.PID unless --massif-out-file says otherwise, ends with a tree of that moment.\n"
	  "\n"
	  "  attach needs the kernel module massif.ko (massif-ctl doctor tells what is missing), and the\n"
	  "  right to trace the process: the same user, or root. Heap mode cannot attach: start the program\n"
	  "  with massif-ctl run for that. Options that are about blocks of malloc have no effect.\n",
	  .has_options = true },
	{ "rescue", "rescue PID [options]", "go on with a profile whose massif-ctl was killed",
	  mf_command_rescue,
	  "  When massif-ctl was killed (SIGKILL, the OOM killer), the profile of process PID is still in its\n"
	  "  memory, complete, as long as the process runs. Root goes on with it, in the background or with\n"
	  "  --wait=yes in the foreground, and the file is written when the process ends. Its own user has\n"
	  "  the profile written as it is now, as often as wanted. Options and the file's name are those with\n"
	  "  which the profile was begun, unless others are given; of another user's process, the file is\n"
	  "  massif.out.PID here.\n",
	  .has_options = true },
	{ "list", "list", "the profiles that grow now", mf_command_list },
	{ "snapshot", "snapshot [--pid PID] [file]", "a snapshot of a profile that grows",
	  mf_command_snapshot,
	  SNAPSHOT_DETAILS("massif.vgdb.out") },
	{ "detailed_snapshot", "detailed_snapshot [--pid PID] [file]", "the same with its tree",
	  mf_command_detailed_snapshot,
	  SNAPSHOT_DETAILS("massif.vgdb.out") },
	{ "all_snapshots", "all_snapshots [--pid PID] [file]", "its file as it would be now",
	  mf_command_all_snapshots,
	  SNAPSHOT_DETAILS("massif.vgdb.out") },
	{ "xtmemory", "xtmemory [--pid PID] [file]", "an execution tree of its live blocks",
	  mf_command_xtmemory,
	  SNAPSHOT_DETAILS("xtmemory.kcg.%p.%n") },
	{ "doctor", "doctor [--mode=heap|pages|all]", "what works here, and what to do for the rest",
	  mf_command_doctor },
	{ "help", "help", "print this text", mf_command_help },
	{ "version", "version", "print the version", mf_command_version },
};

static bool is_help(const char *word)
{
	return word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0);
}

const unsigned int mf_n_commands = sizeof(mf_commands) / sizeof(mf_commands[0]);

int mf_command_dispatch(int argc, char **argv)
{
	for (unsigned int i = 0; argc > 1 && i < mf_n_commands; i++) {
		const struct mf_command *command = &mf_commands[i];

		if (strcmp(argv[1], command->name))
			continue;
		/* run --help is that of all, as it is without a verb. */
		if (is_help(argv[2]) && command->run != mf_command_run)
			return mf_command_explain(command->name);
		return command->run(argc - 2, argv + 2);
	}
	return mf_command_run(argc > 0 ? argc - 1 : 0, argc > 0 ? argv + 1 : argv);
}
