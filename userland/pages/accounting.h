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
#include "pages/files.h"
#include "pages/space.h"
#include "pages/unwind.h"

/* Words in the place of a stack. */
#define MF_WORDS_EXEC	  "[exec]"     /* mapped by the kernel while it started the program */
#define MF_WORDS_ANON	  "[anon]"     /* ... without a name */
#define MF_WORDS_LOST	  "[lost]"     /* mapped when records were lost */
#define MF_WORDS_EXTERNAL "[external]" /* mapped by a thread of another address space */
#define MF_WORDS_NO_STACK "[no stack]" /* there should be one */

struct mf_note;
struct mf_object_key;

struct mf_accounting {
	struct mf_store store;
	struct mf_space space;
	struct mf_space inherited; /* by a fork, until the first resync has claimed it */
	struct mf_files *files;
	uint64_t origin_ns; /* where the profile's time starts */
	bool code_left;	    /* code that was unwound through has been unmapped */

	struct mf_note *notes; /* contexts of words */
	size_t n_notes;
	struct mf_object_key *objects; /* the store's objects that are files */
	size_t n_objects;
};

/* An empty profile. @files must outlive it. @origin_ns is on the clock of the events' times. */
int mf_accounting_create(const struct mf_model_options *options, struct mf_files *files,
			 uint64_t origin_ns, struct mf_accounting **accounting,
			 struct mf_error *err);
void mf_accounting_destroy(struct mf_accounting *accounting);

/* Lets @child, new and empty, find in its first resync who mapped what it shares with @parent. */
int mf_accounting_inherit(struct mf_accounting *child, const struct mf_accounting *parent,
			  struct mf_error *err);

/* The context of @words. MF_CONTEXT_NONE when memory ran out, as of the next function, too. */
uint32_t mf_accounting_note(struct mf_accounting *accounting, const char *words);

/* The context of a stack as mf_unwinder_walk() left it, mapped as the address space is now. */
uint32_t mf_accounting_stack(struct mf_accounting *accounting, const uint64_t *addresses,
			     uint32_t n_addresses, enum mf_unwind_end end);

/* An event's time as the model takes it: milliseconds since the profile's start. */
int64_t mf_accounting_time(const struct mf_accounting *accounting, uint64_t time_ns);

/* Addresses are bytes, multiples of the page size. All return 0, -EINVAL or -ENOMEM. */
int mf_accounting_map(struct mf_accounting *accounting, const struct mf_interval *interval,
		      uint64_t time_ns);
int mf_accounting_unmap(struct mf_accounting *accounting, uint64_t start, uint64_t end,
			uint64_t time_ns);

#endif
