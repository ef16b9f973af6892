/* SPDX-License-Identifier: GPL-2.0 */
/* The profile of one address space: its mappings, the stacks that created them, and the model that they feed. */
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

/* Placeholder texts: a report shows them as a frame where the stack, or part of it, is unknown. */
/* Placeholder for memory that the kernel mapped while it started the program. */
#define MF_WORDS_EXEC	  "[exec]"
/*
 * Placeholder frame in reports for a mapping without a name that the kernel created while it started the program. It is
 * also used for a nameless mapping that is older than the profile: there, the report shows this frame as the caller of
 * the placeholder frame MF_WORDS_ATTACH.
 */
#define MF_WORDS_ANON	  "[anon]"
/*
 * Placeholder frame in reports for memory that was mapped or touched before the profile began, and whose stack is
 * therefore unknown. For a mapping, a second placeholder frame is added as its caller: the mapping's name or
 * MF_WORDS_ANON.
 */
#define MF_WORDS_ATTACH	  "[before attach]"
/* Placeholder for memory that was mapped while records were lost. */
#define MF_WORDS_LOST	  "[lost]"
/*
 * Placeholder for the stack of an event that was caused by a thread in another address space, by a kernel worker or by
 * an exiting thread.
 */
#define MF_WORDS_EXTERNAL "[external]"
/* Placeholder for the stack of an event whose record should carry a stack but does not. */
#define MF_WORDS_NO_STACK "[no stack]"
/*
 * Placeholder frame in reports for pages that were already resident when the process was forked, if the parent's
 * profile does not contain the stacks that first touched them.
 */
#define MF_WORDS_FORK	  "[fork]"
/*
 * Placeholder for the stack of pages that became resident neither by a page fault nor on request (mlock, MAP_POPULATE),
 * but by another action of the kernel. Also used if the module did not see the cause.
 */
#define MF_WORDS_KERNEL	  "[kernel]"
/*
 * Placeholder frame that a report shows above frames that were found through frame pointers, to mark them as guesses.
 */
#define MF_WORDS_GUESS	  "[callers by frame pointers: a guess]"

/* The maximum number of frames in a context: the maximum for a walk, plus a few placeholders (MF_WORDS_*). */
#define MF_CONTEXT_FRAMES_MAX (MF_UNWIND_FRAMES_MAX + 8)

struct mf_note;
struct mf_object_key;

struct mf_accounting {
	struct mf_store store;
	int memory; /* descriptor of the store's file; -1: its memory is private, see share.h */
	struct mf_space space;
	/* after a fork: the parent's mappings, until the first resync has taken the contexts from them */
	struct mf_space inherited;
	struct mf_files *files;
	uint64_t origin_ns; /* CLOCK_MONOTONIC time at which the profile starts */
	struct mf_code code; /* address ranges of the code and unwind rules that the unwinder has read */
	enum mf_pages_what what;
	/* the resident pages; not used if only mappings are accounted (MF_PAGES_VIRTUAL) */
	struct mf_resident resident;
	uint64_t most_resident;	   /* the largest number of resident bytes that a record has had */
	uint64_t most_resident_ns; /* the time of that record (CLOCK_MONOTONIC) */
	/*
	 * The list of mappings made before the profile began is still incomplete. Until it is complete, no snapshot is
	 * taken, because it would show a state that never existed.
	 */
	bool taking_over;

	/* the texts that have been used so far as placeholders for unknown stacks, each with its object and context */
	struct mf_note *notes;
	size_t n_notes;
	struct mf_object_key *objects; /* the store's objects that are mapped files, each with its file and load bias */
	size_t n_objects;

	/*
	 * Filter that returns whether the pages of @context are counted; NULL if all pages are. Its results are cached
	 * in @visible.
	 */
	bool (*counts)(void *data, uint32_t context);
	void *counts_data;
	/* cached results of @counts: whether the pages of each context are counted (enum visibility) */
	uint8_t *visible;
	uint32_t n_visible;
};

/*
 * Creates an empty profile. @files must outlive it. @origin_ns is measured on the same clock as the times of events.
 * Returns 0 or -ENOMEM.
 */
int mf_accounting_create(const struct mf_model_options *options, struct mf_files *files,
			 uint64_t origin_ns, struct mf_accounting **accounting,
			 struct mf_error *err);
/* Selects what the profile accounts for. Call it before the first event; the default is MF_PAGES_VIRTUAL. */
void mf_accounting_show(struct mf_accounting *accounting, enum mf_pages_what what);
/*
 * Sets @counts as the filter that decides whether the pages of a context are counted; it is called once for each
 * context. A profile that counts resident pages does not use the filter. A page that is not counted is still tracked,
 * but is not included in any total and does not cause a snapshot.
 */
void mf_accounting_ask(struct mf_accounting *accounting,
		       bool (*counts)(void *data, uint32_t context), void *data);
void mf_accounting_destroy(struct mf_accounting *accounting);

/*
 * Copies the mappings of @parent into @child, which is new and empty. The child's first resync uses this copy to look
 * up the stacks that created the inherited mappings.
 */
int mf_accounting_inherit(struct mf_accounting *child, const struct mf_accounting *parent,
			  struct mf_error *err);

/*
 * Returns the context whose only frame is the placeholder text @words, or MF_CONTEXT_NONE if out of memory.
 *
 * If resident pages are counted, mf_accounting_note(), mf_accounting_notes() and mf_accounting_stack() return a site
 * instead of a context. A site is the trie node of a call stack. Below the site, each kind of page has a context of its
 * own, with the page kind as its innermost frame (resident.h). The context stored for a mapping (struct mf_interval) is
 * then also a site.
 */
uint32_t mf_accounting_note(struct mf_accounting *accounting, const char *words);

/*
 * Returns the context of two placeholder frames with the texts @words and @below; @below is the caller of @words.
 * Otherwise like mf_accounting_note().
 */
uint32_t mf_accounting_notes(struct mf_accounting *accounting, const char *words,
			     const char *below);

/*
 * Returns the context of a stack; @walk is the result of unwinding it. The mappings must be the same as when the stack
 * was copied.
 */
uint32_t mf_accounting_stack(struct mf_accounting *accounting, const struct mf_walk *walk);

/*
 * Returns the number of the object that stands for the placeholder text @words (MF_OBJECT_NOTE). Reports print the text
 * verbatim.
 */
uint32_t mf_accounting_object(struct mf_accounting *accounting, const char *words);

/* Converts an event's time to model time: milliseconds since the start of the profile. */
int64_t mf_accounting_time(const struct mf_accounting *accounting, uint64_t time_ns);

/*
 * Called when all mappings made before the profile began have been listed. Takes the first snapshot, a detailed one,
 * since the process may never map anything else.
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

/*
 * Moves resident pages to address @to: mf_resident_lift() must have taken them from address @from. Returns 0 or
 * -ENOMEM.
 */
int mf_accounting_land(struct mf_accounting *accounting, uint64_t from, uint64_t to);

/*
 * Call this before each event that is not a RESIDENT record, and pass the thread that caused the event: such an event
 * shows that any earlier unmapping by @thread has finished. Returns 0 or -ENOMEM.
 */
int mf_accounting_turn(struct mf_accounting *accounting, uint32_t thread);

/*
 * Accounts for a RESIDENT record. @site is the site (resident.h) of the stack that changed the pages, or 0 if the
 * record has no stack.
 */
int mf_accounting_resident(struct mf_accounting *accounting,
			   const struct massif_rec_resident *record, uint32_t site);

#endif
