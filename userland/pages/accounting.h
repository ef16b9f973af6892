/* SPDX-License-Identifier: GPL-2.0 */
/* One address space's profile: its mappings, who made them, and the model that they feed. */
#ifndef MASSIF_PAGES_ACCOUNTING_H
#define MASSIF_PAGES_ACCOUNTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/model.h"
#include "model/store.h"
#include "pages/code.h"
#include "pages/files.h"
#include "pages/resident.h"
#include "pages/space.h"
#include "pages/unwind.h"
#include "profile/pages_what.h"

/* Words in the place of a stack. */
#define MF_WORDS_EXEC	  "[exec]"     /* mapped by the kernel while it started the program */
#define MF_WORDS_ANON	  "[anon]"     /* ... without a name */
#define MF_WORDS_ATTACH	  "[before attach]" /* mapped already when it began; the name stands below */
#define MF_WORDS_LOST	  "[lost]"     /* mapped when records were lost */
#define MF_WORDS_EXTERNAL "[external]" /* mapped by a thread of another address space */
#define MF_WORDS_NO_STACK "[no stack]" /* there should be one */
#define MF_WORDS_FORK	  "[fork]"     /* resident from the beginning, in a forked process */
#define MF_WORDS_KERNEL	  "[kernel]"   /* made resident by the kernel, outside of a fault */
#define MF_WORDS_GUESS	  "[callers by frame pointers: a guess]" /* below it: so found */

/* Frames of a context: those of a walk, and words. */
#define MF_CONTEXT_FRAMES_MAX (MF_UNWIND_FRAMES_MAX + 8)

struct mf_note;
struct mf_object_key;

struct mf_accounting {
	struct mf_store store;
	struct mf_space space;
	struct mf_space inherited; /* by a fork, until the first resync has claimed it */
	struct mf_files *files;
	uint64_t origin_ns; /* where the profile's time starts */
	struct mf_code code; /* that was unwound through */
	enum mf_pages_what what;
	struct mf_resident resident; /* unless it is MF_PAGES_VIRTUAL */
	/*
	 * What was there before the profile is being told, piece by piece: a snapshot would show a
	 * moment that never was.
	 */
	bool taking_over;

	struct mf_note *notes; /* contexts of words */
	size_t n_notes;
	struct mf_object_key *objects; /* the store's objects that are files */
	size_t n_objects;

	/* Which contexts count, with who says so (NULL: all do), and what was said. */
	bool (*counts)(void *data, uint32_t context);
	void *counts_data;
	uint8_t *visible; /* by context: enum visibility of accounting.c */
	uint32_t n_visible;
};

/* An empty profile. @files must outlive it. @origin_ns is on the clock of the events' times. */
int mf_accounting_create(const struct mf_model_options *options, struct mf_files *files,
			 uint64_t origin_ns, struct mf_accounting **accounting,
			 struct mf_error *err);
/* Accounts for something else than what is mapped, from the beginning. */
void mf_accounting_show(struct mf_accounting *accounting, enum mf_pages_what what);
/*
 * @counts will be asked, once for each context, whether its pages count; where resident pages are
 * accounted it is not. A page that does not is known, but is in no total and makes no snapshot.
 */
void mf_accounting_ask(struct mf_accounting *accounting,
		       bool (*counts)(void *data, uint32_t context), void *data);
void mf_accounting_destroy(struct mf_accounting *accounting);

/* Lets @child, new and empty, find in its first resync who mapped what it shares with @parent. */
int mf_accounting_inherit(struct mf_accounting *child, const struct mf_accounting *parent,
			  struct mf_error *err);

/*
 * The context of @words. MF_CONTEXT_NONE when memory ran out, as of the next functions, too. Where
 * resident pages are accounted, these return a site in its place: the trie's node of the stack, to
 * which the kind of a page is added (resident.h); so do the contexts of mappings.
 */
uint32_t mf_accounting_note(struct mf_accounting *accounting, const char *words);

/* The same of @words with @below as their caller. */
uint32_t mf_accounting_notes(struct mf_accounting *accounting, const char *words,
			     const char *below);

/* The context of a stack that was walked, mapped as the address space is now. */
uint32_t mf_accounting_stack(struct mf_accounting *accounting, const struct mf_walk *walk);

/* The number of the object that prints as @words. */
uint32_t mf_accounting_object(struct mf_accounting *accounting, const char *words);

/* An event's time as the model takes it: milliseconds since the profile's start. */
int64_t mf_accounting_time(const struct mf_accounting *accounting, uint64_t time_ns);

/*
 * All that was there before the profile has been told: the first snapshot, which has a tree, since a
 * process may never map anything more.
 */
void mf_accounting_taken_over(struct mf_accounting *accounting, uint64_t time_ns);

/*
 * Addresses are bytes, multiples of the page size; @gone as for mf_resident_unmapped(). All return 0,
 * -EINVAL or -ENOMEM.
 */
int mf_accounting_map(struct mf_accounting *accounting, const struct mf_interval *interval,
		      uint64_t time_ns);
int mf_accounting_unmap(struct mf_accounting *accounting, uint64_t start, uint64_t end, bool gone,
			uint64_t time_ns);

/* What was lifted from @from on (mf_resident_lift) is at @to now. */
int mf_accounting_land(struct mf_accounting *accounting, uint64_t from, uint64_t to);

/* What comes next is the doing of @thread; it is no RESIDENT record. */
int mf_accounting_turn(struct mf_accounting *accounting, uint32_t thread);

/* A RESIDENT record, explained by @site (0: it has no stack). */
int mf_accounting_resident(struct mf_accounting *accounting,
			   const struct massif_rec_resident *record, uint32_t site);

#endif
