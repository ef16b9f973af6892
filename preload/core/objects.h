/* SPDX-License-Identifier: GPL-2.0 */
/* Which ELF objects are loaded in the program, told to the session memory. */
#ifndef MASSIF_PRELOAD_OBJECTS_H
#define MASSIF_PRELOAD_OBJECTS_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "session.h"

extern uint32_t mf_objects_retired MF_HIDDEN;

/* What remembers unwind rules by their addresses registers itself here, before the first scan. */
struct mf_objects_watcher {
	/* An object has come, from @start to @end; its file may be opened or not. One caller at a time, as for @gone. */
	void (*arrived)(const struct dl_phdr_info *object, uint64_t start, uint64_t end, bool may_open);
	/* What was from @start to @end is not there any more. */
	void (*gone)(uint64_t start, uint64_t end);
	/* Rules that were guessed may be wrong now. False: none was. */
	bool (*forget_guesses)(void);
};

extern struct mf_objects_watcher mf_objects_watcher MF_HIDDEN;

/* Enters objects that are new, and retires those that are gone. Never call it with the session's
 * lock held: the dynamic linker's own lock is taken. */
void mf_objects_scan(void);

/* From now on mf_objects_change() and mf_objects_scan() are called whenever the list of objects has changed. */
void mf_objects_are_announced(void);

/* The list has changed. If no scan follows, the next event that comes by an unknown object makes one. */
void mf_objects_change(void);

/*
 * The object that holds @address. Takes the dynamic linker's lock only if it is in none that is known, and a
 * change may have been missed.
 */
uint32_t mf_objects_of(uint64_t address);

/*
 * New objects have been mapped, of which nothing has run yet. Whoever calls it calls it for all of them;
 * see mf_rule_cache_keep_guesses.
 */
void mf_objects_come(void);

/* Changes whenever what was remembered of addresses is void: an object was retired, or came where none was. */
static inline uint32_t mf_objects_generation(void)
{
	return __atomic_load_n(&mf_objects_retired, __ATOMIC_ACQUIRE);
}

/* In a forked child: nobody is looking, and what was not looked at to the end is looked at again. */
void mf_objects_reset(void);

#endif
