/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Adds up the live bytes of a profile's stacks by what their innermost calls outside of standard libraries have in
 * common: the call site, the function, the source file or the library.
 */
#ifndef MASSIF_REPORT_SITES_H
#define MASSIF_REPORT_SITES_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "report/index.h"
#include "report/moment.h"
#include "symbols/arena.h"

enum mf_sites_by {
	MF_SITES_BY_SITE,     /* function, file and line of the innermost call */
	MF_SITES_BY_FUNCTION, /* function, and the object if the function has no file */
	MF_SITES_BY_PLACE,    /* function and file, without the line: for comparing two builds */
	MF_SITES_BY_FILE,
	MF_SITES_BY_LIBRARY,
	MF_SITES_BY_STACK,    /* all calls, the innermost first */
	MF_SITES_BY_THREAD,   /* the thread that has allocated, with its ID */
	MF_SITES_BY_THREAD_NAME,
	MF_SITES_BY_ALLOCATOR, /* the allocation function that was called */
	MF_SITES_BY_PROCESS,  /* the name of the moment's process */
	MF_SITES_BYS,
};

/* The names of the ways above, as in --by. */
extern const char *const mf_sites_by_names[MF_SITES_BYS];

/* The profiles or snapshots whose bytes are added up side by side. */
#define MF_SITES_SIDES 2u

/* The numbers of a site: besides the sides, what mf_sites_add_counts() and mf_sites_add_details() add up. */
enum {
	MF_SITES_LIVE = MF_SITES_SIDES, /* blocks live at the end */
	MF_SITES_ALLOCATIONS,
	MF_SITES_ALLOCATED,
	MF_SITES_TEMPORARIES,
	MF_SITES_COUNTS_END,
	MF_SITES_BLOCKS = MF_SITES_COUNTS_END, /* live blocks at the moment */
	MF_SITES_LARGEST, /* the size of the largest block: of several stacks, the largest, not the sum */
	MF_SITES_VALUES,
};

struct mf_site {
	const char *label; /* without control characters */
	uint64_t bytes[MF_SITES_VALUES];
	uint64_t last_stack; /* number of the last stack that was added to it; see sites.c */
};

/* Zero-initialise it. */
struct mf_sites {
	struct mf_site *list;
	size_t count, room;
	struct mf_index index; /* number of a site by the hash of its label; see sites.c */
	struct mf_arena arena; /* the labels */
	struct mf_bytes text;  /* the label that is being made */
	/*
	 * Set it to add the bytes of each stack to the sites of all its calls instead of only the innermost one, but once
	 * to each. The sites' bytes then add up to more than @totals.
	 */
	bool inclusive;
	/* Set it to name the innermost call even if it belongs to the standard library of C++ or Rust; see standard.h. */
	bool all_calls;
	uint64_t totals[MF_SITES_VALUES]; /* the bytes of all stacks that were added */
	uint64_t n_stacks;
};

/*
 * Adds the bytes of @moment to bytes[@side] (less than MF_SITES_VALUES) of the sites, adding sites that are new. May be
 * called for several moments, also of different profiles. Returns 0 or -ENOMEM.
 */
int mf_sites_add(struct mf_sites *sites, const struct mf_moment *moment, enum mf_sites_by by, unsigned int side,
		 struct mf_error *err);

/* Adds the counts of all contexts of the moment's profile, if it has counts. Returns 0 or -ENOMEM. */
int mf_sites_add_counts(struct mf_sites *sites, const struct mf_moment *moment, enum mf_sites_by by,
			struct mf_error *err);

/* Adds the live blocks in the moment's snapshot, and the largest blocks, if they are known. Returns 0 or -ENOMEM. */
int mf_sites_add_details(struct mf_sites *sites, const struct mf_moment *moment, enum mf_sites_by by,
			 struct mf_error *err);

/*
 * Adds what each thread has allocated, for a profile that has no stacks of each thread; @by is MF_SITES_BY_THREAD or
 * MF_SITES_BY_THREAD_NAME. Returns 0 or -ENOMEM.
 */
int mf_sites_add_thread_totals(struct mf_sites *sites, const struct mf_profile *profile, enum mf_sites_by by,
			       struct mf_error *err);

/* Returns the count that is number @value of a site, from MF_SITES_SIDES to before MF_SITES_COUNTS_END. */
enum mf_count mf_sites_count_of(unsigned int value);

/* Adds the text for one call to @label: its function, file and line. It can have control characters. */
void mf_sites_add_call(struct mf_bytes *label, const struct mf_moment *moment, const struct mf_call *call);

/* What labels call an allocation function. */
extern const char *const mf_sites_functions[MF_FUNCTIONS];

/* Adds the label of the site to which @stack belongs to @label. It can have control characters. */
void mf_sites_label(struct mf_bytes *label, const struct mf_moment *moment, enum mf_sites_by by,
		    const struct mf_moment_stack *stack);

/* Removes the sites whose labels do not match @regex; NULL keeps all. */
void mf_sites_keep(struct mf_sites *sites, const regex_t *regex);

void mf_sites_deinit(struct mf_sites *sites);

#endif
