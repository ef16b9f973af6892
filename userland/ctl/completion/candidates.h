/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The options of each command of massif-ctl and their values, as shells complete them. They come from the tables of
 * commands and options; the values of the commands that read recordings come from their --help.
 */
#ifndef MASSIF_CTL_CANDIDATES_H
#define MASSIF_CTL_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>

#include "ctl/cmd/command.h"

enum mf_candidate_value {
	MF_CANDIDATE_BARE,  /* the option takes no value */
	MF_CANDIDATE_OTHER, /* any value */
	MF_CANDIDATE_WORDS, /* one of the words in @words */
	MF_CANDIDATE_FILE,
	MF_CANDIDATE_DIRECTORY,
};

struct mf_candidate {
	const char *name; /* such as "--by" or "-o" */
	const char *meaning; /* NULL: not known */
	enum mf_candidate_value value;
	bool is_optional; /* the option may be given without its value */
	char words[256]; /* separated by blanks */
};

struct mf_candidates {
	struct mf_candidate *options;
	size_t n, room;
};

/* Lists the options of @command in @candidates, in place of those that are there. Returns 0 or -ENOMEM. */
int mf_candidates_of(const struct mf_command *command, struct mf_candidates *candidates);

void mf_candidates_deinit(struct mf_candidates *candidates);

/* Returns whether what follows the options of @command is a program with its arguments. */
bool mf_candidates_takes_program(const struct mf_command *command);

#endif
