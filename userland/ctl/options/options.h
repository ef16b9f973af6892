/* SPDX-License-Identifier: GPL-2.0 */
/* The options of massif-ctl: what they may be, and what was given. */
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

/* Options that ask for something else than a run. */
enum mf_options_wish {
	MF_OPTIONS_RUN,
	MF_OPTIONS_HELP,
	MF_OPTIONS_VERSION,
};

/* Execution trees that may be written at the end. */
enum mf_xtree_wish {
	MF_XTREE_NONE,
	MF_XTREE_ALLOCS, /* of the blocks that live then */
	MF_XTREE_FULL,	 /* and of all that was allocated and freed */
};

struct mf_options {
	enum mf_options_wish wish;
	bool heap;	      /* no: blocks are not counted */
	bool stacks;	      /* those of threads are */
	enum mf_pages_what pages; /* what of pages; of no meaning without @pages_as_heap */
	bool pages_as_heap;   /* unless @heap is off; see mf_options_has_pages() */
	bool time_unit_given; /* or left to the machine */
	int verbosity;	      /* see message.h */
	const char *out_file; /* with its % still in it */
	const char *log_file; /* the same; NULL: messages go to @log_fd */
	uint32_t log_fd;
	bool end_snapshot;    /* each profile ends with a tree */
	bool stats;	      /* print the model's counters at the end */
	bool trace_malloc;    /* print each call */
	bool client_requests; /* those in the program's code are heard */
	bool heap_extra_real; /* extra bytes are the allocator's own, not modelled */
	bool realloc_zero_frees; /* no: one that returns a block resized it to 1 byte */
	uint32_t merge_recursive; /* frames of a cycle at most; 0: cycles stay */
	bool trace_children;	  /* profile the programs that the program executes, too */
	const char *trace_children_skip;	/* patterns of paths; NULL: none. See children.h */
	const char *trace_children_skip_by_arg; /* the same of arguments */
	enum mf_xtree_wish xtree; /* a second file */
	const char *somalloc; /* up to a comma: pattern of objects whose functions count; NULL: all */
	const char *xtree_file;	  /* its name, with its % still in it */
	bool xtree_compress;	  /* numbers for names that it had before */
	bool unwind_cache;	  /* keep rules and names for the next run, see cachedir.h */
	bool child_silent;	  /* nothing is said of processes that are only forked */
	bool wait;		  /* for the processes that the program leaves behind */
	bool command_line_only;	  /* see mf_options_has_command_line_only() */
	uint32_t no_effect;	  /* of options that bear on nothing */
	struct mf_model_options model;
	struct mf_report_options report;
	struct mf_symbolizer_options symbolizer;

	struct mf_held *held; /* files that processes of this run have mapped; owned */
	const char **words; /* all that were read, as given; owned, but not they */
	size_t n_words;
	struct mf_outputs *outputs; /* the output files of this run; owned */

	char *desc; /* the options that the file mentions, as given, or "(none)"; owned */
	char **owned; /* words that were made of others; owned, as they are */
	size_t n_owned;
	const char **alloc_fns, **ignore_fns, **fullpath_after; /* behind report's lists; owned */
	bool *matched; /* the same */
};

/* Sets the defaults and allocates for @argc words of options, all in all. Returns 0 or -ENOMEM. */
int mf_options_init(struct mf_options *options, int argc, struct mf_error *err);
void mf_options_deinit(struct mf_options *options);

/* --heap=no takes precedence of --pages-as-heap. */
static inline bool mf_options_has_pages(const struct mf_options *options)
{
	return options->pages_as_heap && options->heap;
}

/* Whether heap mode has anything to see in the program. */
static inline bool mf_options_look_inside(const struct mf_options *options)
{
	return options->heap || options->stacks;
}

/*
 * Reads the options that were set up beforehand: a word that is no option is refused, and `--` is
 * skipped. @defaults must outlive @options. Returns as mf_options_parse() does; the message says where
 * the option was set.
 */
int mf_options_parse_defaults(struct mf_options *options, const struct mf_defaults *defaults,
			      struct mf_error *err);

/* Whether the options at the start of @argv say that there are to be no others. */
bool mf_options_has_command_line_only(int argc, char *const *argv);

/*
 * Reads the options at the start of @argv, up to a `--` or the first word without a `-`. *@used is
 * how many words that were, the `--` included. Returns 0; or -EINVAL, with all lines for the user in
 * @err: what is wrong, why or what is allowed, and where help is.
 */
int mf_options_parse(struct mf_options *options, int argc, char *const *argv, int *used,
		     struct mf_error *err);

/* Whether all of them can be had together. Returns 0; or -EINVAL, with the lines for the user. */
int mf_options_check_mode(const struct mf_options *options, struct mf_error *err);

/* The lines for the user when @arg was refused because of @reason, which may have several lines. */
void mf_options_explain(struct mf_error *err, const char *arg, const char *reason);

/* The table of options as help. */
void mf_options_print_help(FILE *out);

#endif
