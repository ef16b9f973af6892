/* SPDX-License-Identifier: GPL-2.0 */
/* massif-ctl's options: the parser and the values. */
#ifndef MASSIF_CTL_OPTIONS_H
#define MASSIF_CTL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "defaults.h"
#include "ctl/files/outputs.h"
#include "model/model.h"
#include "profile/pages_what.h"
#include "report/options.h"
#include "base/held.h"
#include "symbols/symbolizer.h"

/* The action that the options request. */
enum mf_options_request {
	MF_OPTIONS_RUN,
	MF_OPTIONS_HELP,
	MF_OPTIONS_VERSION,
};

/* What to include in the execution tree that massif-ctl writes when the program ends. */
enum mf_xtree_request {
	MF_XTREE_NONE,	 /* no tree is written */
	MF_XTREE_ALLOCS, /* the tree contains only the blocks that are still live */
	MF_XTREE_FULL,	 /* the tree also contains all allocations and frees since the program's start */
};

/* The source of the samples of the resident set (--rss). */
enum mf_rss_request {
	MF_RSS_NO,
	MF_RSS_ANY,	/* from /proc, and from massif.ko if that is loaded */
	MF_RSS_SAMPLED, /* from /proc only */
	MF_RSS_MODULE,	/* from both; without massif.ko, the program is not started */
};

struct mf_touch_session;

struct mf_options {
	enum mf_options_request wanted;
	bool heap;	      /* count heap blocks */
	bool stacks;	      /* count the threads' stacks */
	enum mf_pages_what pages; /* what a pages mode profile counts; meaningless without @pages_as_heap */
	bool pages_as_heap;   /* profile pages (pages mode); no effect if @heap is false, see mf_options_has_pages() */
	bool time_unit_given; /* the user chose the unit of time (--time-unit) */
	int verbosity;	      /* message level, see message.h */
	const char *out_file; /* file name of the profile, not yet expanded (may contain %) */
	const char *log_file; /* file name of the log, not yet expanded; NULL if messages go to @log_fd */
	uint32_t log_fd;
	bool end_snapshot;    /* end every profile with a detailed snapshot */
	bool stats;	      /* print the model's counters at the end */
	bool trace_malloc;    /* print every call to an allocation function */
	bool client_requests; /* honour client requests in the program's code */
	bool heap_extra_real; /* measure the overhead of each block instead of computing it by Massif's rule */
	bool realloc_zero_frees; /* if false, a block that realloc(p, 0) returns counts as resized to 1 byte */
	uint32_t merge_recursive; /* merge recursive cycles of at most this many frames; 0: do not merge */
	bool separate_threads;	  /* keep the stacks of different threads apart, for recordings */
	enum mf_rss_request rss;  /* whether and how to sample the resident set, for recordings */
	bool record_details;	  /* keep details of what each stack allocates, for recordings */
	bool trace_children;	  /* also profile programs that the program executes */
	/* patterns for the paths of programs that are not to be profiled, or NULL */
	const char *trace_children_skip;
	/* patterns for the arguments of programs that are not to be profiled, or NULL */
	const char *trace_children_skip_by_arg;
	enum mf_xtree_request xtree; /* which execution tree to write */
	/* pattern, ended by a comma or NUL, for objects whose allocation functions are intercepted; NULL for all */
	const char *somalloc;
	const char *xtree_file;	  /* name of the xtree file, not yet expanded (may contain %) */
	bool xtree_compress;	  /* in the xtree file, replace repeated names with numbers */
	bool unwind_cache;	  /* keep unwind rules and names for later runs; see cachedir.h */
	bool child_silent;	  /* print no messages about processes that only fork */
	bool wait;		  /* wait for processes that outlive the program */
	bool embedded_suppressions; /* use the suppressions that programs contain for LeakSanitizer */
	bool without_budgets;	  /* skip the options with budgets and suppressions */
	bool command_line_only;	  /* take no default options from files or the environment */
	uint32_t no_effect;	  /* dummy target for options that are ignored */
	struct mf_model_options model;
	struct mf_report_options report;
	struct mf_symbolizer_options symbolizer;

	struct mf_held *held; /* files that processes of this run have mapped; owned */
	const char **words; /* all option words as given; the array is owned, but not the words */
	size_t n_words;
	const char *record_file; /* name of the recording, not yet expanded (may contain %); NULL: none is made */
	struct mf_outputs *outputs; /* the output files of this run; owned */
	struct mf_touch_session *touches; /* the session with massif.ko beside heap mode, or NULL; heap mode owns it */
	struct mf_recorder *recorder; /* the recording of this run; owned */
	struct mf_checker *checker; /* the budgets, and whether the processes keep to them; owned */

	char *desc; /* the options as given, for the profile's desc line, or "(none)"; owned */
	char **owned; /* option words that were rewritten, such as --massif:depth=5; both array and words are owned */
	size_t n_owned;
	const char **alloc_fns, **ignore_fns, **fullpath_after; /* arrays that the lists in @report point to; owned */
	/* for each name in report.alloc_fns and report.ignore_fns, whether it matched any function; owned */
	bool *matched;
};

/* Sets the defaults and allocates room for @argc option words in total. Returns 0 or -ENOMEM. */
int mf_options_init(struct mf_options *options, int argc, struct mf_error *err);
void mf_options_deinit(struct mf_options *options);

/* --heap=no overrides --pages-as-heap. */
static inline bool mf_options_has_pages(const struct mf_options *options)
{
	return options->pages_as_heap && options->heap;
}

/* Returns whether heap mode needs the shim in the program. */
static inline bool mf_options_look_inside(const struct mf_options *options)
{
	return options->heap || options->stacks;
}

/*
 * Parses the default options. A word that is not an option is an error; `--` is skipped. @defaults must outlive
 * @options. Returns the same codes as mf_options_parse(); the message names the origin of the option.
 */
int mf_options_parse_defaults(struct mf_options *options, const struct mf_defaults *defaults,
			      struct mf_error *err);

/* Returns whether the options at the start of @argv contain --command-line-only=yes. */
bool mf_options_has_command_line_only(int argc, char *const *argv);

/*
 * Parses the options at the start of @argv, up to `--` or the first word without a leading `-`. *@used is the
 * number of words read, including `--`. Returns 0; or -EINVAL with the complete message for the user in @err:
 * what is wrong, why, and where to find help.
 */
int mf_options_parse(struct mf_options *options, int argc, char *const *argv, int *used,
		     struct mf_error *err);

/* Returns whether there is an option with the name of @arg, which may have a value. */
bool mf_options_has(const char *arg);

/* Rejects mutually exclusive options. Returns 0, or -EINVAL with a message for the user. */
int mf_options_check_mode(const struct mf_options *options, struct mf_error *err);

/* Formats an error message saying that the option @arg is invalid because of @reason, which may span several lines. */
void mf_options_explain(struct mf_error *err, const char *arg, const char *reason);

/* Prints the table of options for --help. */
void mf_options_print_help(FILE *out);

#endif
