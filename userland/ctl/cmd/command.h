/* SPDX-License-Identifier: GPL-2.0 */
/* The verbs of massif-ctl, one file each. */
#ifndef MASSIF_CTL_COMMAND_H
#define MASSIF_CTL_COMMAND_H

#include <stdbool.h>

struct mf_command {
	const char *name, *usage, *summary;
	/* @argv starts behind the verb and ends with NULL. Returns the exit status. */
	int (*run)(int argc, char **argv);
	const char *details; /* for its --help: paragraphs; NULL: the summary says it all */
	bool has_options;    /* it takes the options of profiles, too */
};

extern const struct mf_command mf_commands[];
extern const unsigned int mf_n_commands;

/* Runs the verb that argv[1] names, or run if it names none. Returns the exit status. */
int mf_command_dispatch(int argc, char **argv);

/* Prints the help of a single verb, which is named @name. Returns the exit status. */
int mf_command_explain(const char *name);

int mf_command_run(int argc, char **argv);
int mf_command_attach(int argc, char **argv);
int mf_command_rescue(int argc, char **argv);
int mf_command_list(int argc, char **argv);
int mf_command_snapshot(int argc, char **argv);
int mf_command_detailed_snapshot(int argc, char **argv);
int mf_command_all_snapshots(int argc, char **argv);
int mf_command_xtmemory(int argc, char **argv);
int mf_command_doctor(int argc, char **argv);
int mf_command_help(int argc, char **argv);
int mf_command_version(int argc, char **argv);

#endif
