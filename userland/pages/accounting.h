/* SPDX-License-Identifier: GPL-2.0 */
/* The profile of one address space: its mappings, the stacks that made them, and the model that they feed. */
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

/* Texts that a report shows as a frame where no stack is known. Below, "words" are such a text. */
#define MF_WORDS_EXEC	  "[exec]"     /* mapped by the kernel while it started the program */
#define MF_WORDS_ANON	  "[anon]"     /* mapped like [exec], but without a name */
#define MF_WORDS_ATTACH	  "[before attach]" /* mapped before the profile began; the mapping's name is the caller's
					     * frame */
#define MF_WORDS_LOST	  "[lost]"     /* mapped while records were lost */
#define MF_WORDS_EXTERNAL "[external]" /* mapped by a thread of another address space */
#define MF_WORDS_NO_STACK "[no stack]" /* a stack was expected but is not available */
#define MF_WORDS_FORK	  "[fork]"     /* resident from the start of a forked process */
#define MF_WORDS_KERNEL	  "[kernel]"   /* made resident by the kernel, outside of a page fault */
#define MF_WORDS_GUESS	  "[callers by frame pointers: a guess]" /* marks the frames below it as found by frame
								  * pointers */

/* The most frames that a context can have: those of a walk, and a few words (MF_WORDS_*). */
#define MF_CONTEXT_FRAMES_MAX (MF_UNWIND_FRAMES_MAX + 8)

struct mf_note;
struct mf_object_key;

struct mf_accounting {
	struct mf_store store;
	struct mf_space space;
	struct mf_space inherited; /* the parent's mappings after a fork, until the first resync has used them */
	struct mf_files *files;
	uint64_t origin_ns; /* CLOCK_MONOTONIC time at which the profile starts */
	struct mf_code code; /* code and unwind rules that stacks were unwound through */
	enum mf_pages_what what;
	struct mf_resident resident; /* not used if only mappings are accounted (MF_PAGES_VIRTUAL) */
	/*
	 * Mappings from before the profile are still being listed. No snapshot is taken meanwhile: it would show a
	 * state that never existed.
	 */
	bool taking_over;

	struct mf_note *notes; /* words that were used so far, each with its object */
	size_t n_notes;
	struct mf_object_key *objects; /* objects of the store that are files, by load address */
	size_t n_objects;

	/* Decides which contexts count; NULL: all do. The answers are cached in visible. */
	bool (*counts)(void *data, uint32_t context);
	void *counts_data;
	uint8_t *visible; /* indexed by context: enum visibility of accounting.c */
	uint32_t n_visible;
};

/*
 * Creates an empty profile. @files must outlive it. @origin_ns is on the clock of the events' times. Returns 0 or
 * -ENOMEM.
 */
int mf_accounting_create(const struct mf_model_options *options, struct mf_files *files,
			 uint64_t origin_ns, struct mf_accounting **accounting,
			 struct mf_error *err);
/* Selects what the profile accounts for. Call it before the first event; the default is MF_PAGES_VIRTUAL. */
void mf_accounting_show(struct mf_accounting *accounting, enum mf_pages_what what);
/*
 * Lets @counts decide, once for each context, whether its pages count. Not used where resident pages are accounted. A
 * page that does not count is still tracked, but it is in no total and causes no snapshot.
 */
void mf_accounting_ask(struct mf_accounting *accounting,
		       bool (*counts)(void *data, uint32_t context), void *data);
void mf_accounting_destroy(struct mf_accounting *accounting);

/*
 * Copies the mappings of @parent into @child, which is new and empty. The child's first resync then finds there which
 * stack made the mappings that both share.
 */
int mf_accounting_inherit(struct mf_accounting *child, const struct mf_accounting *parent,
			  struct mf_error *err);

/*
 * Returns the context whose only frame is @words, or MF_CONTEXT_NONE if memory runs out. Where resident pages are
 * accounted, this function and the next two return a site instead: the trie node of the stack, to which the kind of
 * page is added as the innermost frame (resident.h). The contexts of mappings are sites then, too.
 */
uint32_t mf_accounting_note(struct mf_accounting *accounting, const char *words);

/* Like mf_accounting_note(), with @below as the caller of @words. */
uint32_t mf_accounting_notes(struct mf_accounting *accounting, const char *words,
			     const char *below);

/* Returns the context of a walked stack. The mappings must be those that the stack was copied under. */
uint32_t mf_accounting_stack(struct mf_accounting *accounting, const struct mf_walk *walk);

/* Returns the number of the object that is printed as @words. */
uint32_t mf_accounting_object(struct mf_accounting *accounting, const char *words);

/* Converts an event's time to that of the model: milliseconds since the profile's start. */
int64_t mf_accounting_time(const struct mf_accounting *accounting, uint64_t time_ns);

/*
 * Called when all mappings from before the profile are listed. Takes the first snapshot, a detailed one, since the
 * process may never map anything more.
 */
void mf_accounting_taken_over(struct mf_accounting *accounting, uint64_t time_ns);

/*
 * Record that a range was mapped or unmapped. Addresses are in bytes and multiples of the page size; for @gone see
 * mf_resident_unmapped(). Both return 0, -EINVAL or -ENOMEM.
 */
int mf_accounting_map(struct mf_accounting *accounting, const struct mf_interval *interval,
		      uint64_t time_ns);
int mf_accounting_unmap(struct mf_accounting *accounting, uint64_t start, uint64_t end, bool gone,
			uint64_t time_ns);

/* Enters at @to the pages that mf_resident_lift() took out at @from. Returns 0 or -ENOMEM. */
int mf_accounting_land(struct mf_accounting *accounting, uint64_t from, uint64_t to);

/*
 * Call before each event that is not a RESIDENT record. Because @thread caused the event, it has finished its earlier
 * unmapping. Returns 0 or -ENOMEM.
 */
int mf_accounting_turn(struct mf_accounting *accounting, uint32_t thread);

/* Accounts a RESIDENT record. @site is that of the stack that caused it; 0: it has no stack. */
int mf_accounting_resident(struct mf_accounting *accounting,
			   const struct massif_rec_resident *record, uint32_t site);

#endif
