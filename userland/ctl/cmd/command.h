/* SPDX-License-Identifier: GPL-2.0 */
/* The table of massif-ctl's commands. Each command is in its own file. */
#ifndef MASSIF_CTL_COMMAND_H
#define MASSIF_CTL_COMMAND_H

#include <stdbool.h>

struct mf_command {
	const char *name, *usage, *summary;
	/*
	 * Runs the command. @argv holds the words after the command's name and is NULL-terminated. Returns the exit
	 * status.
	 */
	int (*run)(int argc, char **argv);
	const char *details; /* paragraphs for the command's --help; NULL if the summary is enough */
	bool has_options;    /* the command also accepts the profiling options */
	const char *const *words; /* the options of its own, ends with NULL; NULL: it has none */
};

extern const struct mf_command mf_commands[];
extern const unsigned int mf_n_commands;

/* Runs the command named by argv[1], or the run command if argv[1] names none. Returns the exit status. */
int mf_command_dispatch(int argc, char **argv);

/* Returns the name of the command that was probably meant by the misspelt @word; NULL if none is similar. */
const char *mf_command_nearest(const char *word);

/* Prints the help text of the command @name. Returns the exit status. */
int mf_command_explain(const char *name);

int mf_command_run(int argc, char **argv);
int mf_command_record(int argc, char **argv);
int mf_command_show(int argc, char **argv);
int mf_command_diff(int argc, char **argv);
int mf_command_check(int argc, char **argv);
int mf_command_export(int argc, char **argv);
int mf_command_report(int argc, char **argv);
int mf_command_symbolize(int argc, char **argv);
int mf_command_attach(int argc, char **argv);
int mf_command_rescue(int argc, char **argv);
int mf_command_list(int argc, char **argv);
int mf_command_top(int argc, char **argv);
int mf_command_snapshot(int argc, char **argv);
int mf_command_detailed_snapshot(int argc, char **argv);
int mf_command_all_snapshots(int argc, char **argv);
int mf_command_xtmemory(int argc, char **argv);
int mf_command_doctor(int argc, char **argv);
int mf_command_help(int argc, char **argv);
int mf_command_print(int argc, char **argv);
int mf_command_completion(int argc, char **argv);
int mf_command_version(int argc, char **argv);

extern const char *const mf_command_show_words[];
extern const char *const mf_command_diff_words[];
extern const char *const mf_command_export_words[];
extern const char *const mf_command_report_words[];
extern const char *const mf_command_check_words[];
extern const char *const mf_command_symbolize_words[];
extern const char *const mf_command_top_words[];

#endif
