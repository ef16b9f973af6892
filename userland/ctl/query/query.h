/* SPDX-License-Identifier: GPL-2.0 */
/* What the commands that read recordings have in common: their words, the process, the snapshot. */
#ifndef MASSIF_CTL_QUERY_H
#define MASSIF_CTL_QUERY_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "ctl/files/outfile.h"
#include "ctl/options/options.h"
#include "ctl/query/selection.h"
#include "recording/reader.h"
#include "report/counted.h"
#include "report/sites.h"

#define MF_QUERY_FILES_MAX 2u

/* The words of a command. The texts are those of the command line. */
struct mf_query {
	const char *files[MF_QUERY_FILES_MAX];
	size_t n_files;
	pid_t pid;		  /* --pid: the process to choose; 0: none was given */
	const char *at;		  /* --at: the snapshot to choose */
	bool counted;		  /* --value: write @count of each stack instead of its live bytes */
	enum mf_count count;
	bool resident;		  /* --value: write @number of each stack in a sample of the resident set instead */
	enum mf_resident_number number;
	const char *to;		  /* --to: the format to write */
	bool by_given;
	bool takes_totals;	  /* --by=thread can show what each thread has allocated, without stacks */
	enum mf_sites_by by;	  /* --by: by what sites are told apart */
	unsigned int sort;	  /* --sort: the column by which a table is sorted */
	bool inclusive;		  /* --inclusive: a stack's bytes are those of all its calls */
	bool all_calls;		  /* --all-calls: also name calls of the standard libraries of C++ and Rust */
	bool leaks;		  /* --leaks: what is held at the end comes first */
	bool growth;		  /* --sort=growth: what has grown most comes first */
	bool tree;		  /* --tree: show the call tree */
	bool rss;		  /* --rss: show what the resident set consists of */
	bool sizes;		  /* --sizes: show how many blocks of which sizes were allocated */
	bool lifetimes;		  /* --lifetimes: show how long blocks have lived */
	enum mf_detail_histogram lifetimes_in; /* in bytes: MF_DETAIL_LIFETIMES; or in allocations: MF_DETAIL_AGES */
	bool temporary_given;	  /* --temporary: which blocks are temporary: those in class @temporary of the ages, or below */
	uint32_t temporary;
	bool processes;		  /* --by=process: show the processes of the recording */
	uint32_t top;		  /* --top: how many rows a table has; 0: not given */
	uint64_t min;		  /* --min: smaller changes are not shown, in bytes */
	double tolerance;	  /* --tolerance: growth that is none, in per cent */
	struct mf_selection selection; /* --thread, --through: the stacks that the command is about */
	const char *filter;	  /* --filter: only sites that match; compiled in @regex */
	regex_t regex;
	const char *format;	  /* --format: how verdicts are written; NULL: not given */
	const char **debug_dirs;  /* --debug-dir: the directories, in the order in which they were given; owned */
	size_t n_debug_dirs;
	bool debuginfod;	  /* --debuginfod: ask servers for debug files */
	const char *debuginfod_urls; /* the servers; NULL: not given */
	const char *output;	  /* -o, --output: the file to write; NULL: standard output */
	struct mf_options options; /* has the options that concern trees, and the budgets; owned */
	char **words;		  /* the words that were left for the options; owned */
};

/*
 * Returns whether the question is by thread, and must be answered with the sums of each thread, because its stacks are not
 * known.
 */
bool mf_query_is_of_totals(const struct mf_query *query, const struct mf_profile *profile);

/*
 * Reads the words of a command that takes @n_files files. @allowed has the names of the options above that the command
 * takes, and ends with NULL. Returns 0, or -EINVAL with a message for the user. Release the query in either case.
 */
int mf_query_parse(struct mf_query *query, int argc, char **argv, size_t n_files, const char *const *allowed,
		   struct mf_error *err);

/* How many files a command takes, at most MF_QUERY_FILES_MAX. */
struct mf_query_files {
	size_t least, most;
};

/* The same for a command that takes more or fewer files. */
int mf_query_parse_files(struct mf_query *query, int argc, char **argv, struct mf_query_files files,
			 const char *const *allowed, struct mf_error *err);
void mf_query_release(struct mf_query *query);

/* Parses a time for --at, such as "300ms" or "20Mi", which has been found to be one. Sets *@time in *@unit. */
void mf_query_parse_time(const char *text, enum mf_time_unit *unit, double *time);

/* Returns whether the option @name of these commands takes no value. */
bool mf_query_is_bare(const char *name);

/* Returns whether the option @name of these commands may be given without its value. */
bool mf_query_is_optional(const char *name);

/*
 * Chooses a process of @recording: the one that --pid names, or the only one. Returns NULL, with a message that lists
 * the processes, if that is not clear.
 */
struct mf_recorded *mf_query_process(const struct mf_query *query, const struct mf_recording *recording,
				     struct mf_error *err);

/*
 * Chooses a snapshot with a tree: the peak by default; --at=end: the end; --at=N: snapshot number N; --at=TIME: the last
 * one until then. Returns NULL, with a message, if there is none.
 */
const struct mf_profile_snapshot *mf_query_snapshot(const struct mf_query *query, const struct mf_recorded *process,
						    struct mf_error *err);

/* Returns the snapshot of the peak; if there is none, that with the largest total that has a tree. */
const struct mf_profile_snapshot *mf_query_peak(const struct mf_recorded *process);

/*
 * Writes the result of a command to the file that -o names, or to standard output. Returns 0, or -errno with a message;
 * also if the file could only be written to another place, which the message names.
 */
int mf_query_write(const struct mf_query *query, const struct mf_outfile_source *source, struct mf_error *err);

/* Prints a warning if a part of @recording, which is in the file @path, could not be read. */
void mf_query_say_damage(const char *path, const struct mf_recording *recording);

/*
 * Leaves only the stacks in @processes that --thread and --through select, with the temporary blocks that --temporary chooses.
 * Returns 0; -ENODATA, with a message, if there are none in any process, or if a profile does not have what the query is
 * about, such as threads that are kept apart; or -ENOMEM.
 */
int mf_query_select(const struct mf_query *query, struct mf_recorded *const *processes, size_t n, struct mf_error *err);

/* Returns the expression of --filter, or NULL. */
static inline const regex_t *mf_query_filter(const struct mf_query *query)
{
	return query->filter ? &query->regex : NULL;
}

#endif
