/* SPDX-License-Identifier: GPL-2.0 */
/* Keeps the session memory's list of loaded ELF objects up to date. */
#ifndef MASSIF_PRELOAD_OBJECTS_H
#define MASSIF_PRELOAD_OBJECTS_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "session.h"

extern uint32_t mf_objects_retired MF_HIDDEN;

/* Callbacks that keep the cache of unwind rules up to date. Set before the first scan. */
struct mf_objects_watcher {
	/*
	 * Called when an object has been loaded at addresses @start to @end. @may_open is true if the object's file may
	 * be opened. Neither this callback nor @gone is ever called by two threads at once.
	 */
	void (*arrived)(const struct dl_phdr_info *object, uint64_t start, uint64_t end, bool may_open);
	/* Called when the object at addresses @start to @end has been unloaded. */
	void (*gone)(uint64_t start, uint64_t end);
	/*
	 * Drops guessed unwind rules, because a new object may have made them wrong. Returns false if there were no
	 * guessed rules.
	 */
	bool (*forget_guesses)(void);
};

extern struct mf_objects_watcher mf_objects_watcher MF_HIDDEN;

/*
 * Adds newly loaded objects to the session's list of objects, and retires those that were unloaded. Never call this
 * from a thread that has closed the gate (gate.h): it takes the dynamic linker's lock, and the holder of that lock may
 * be waiting for the gate.
 */
void mf_objects_scan(void);

/*
 * Declares that from now on, every change to the list of objects will be followed by calls to mf_objects_change() and
 * mf_objects_scan().
 */
void mf_objects_are_announced(void);

/*
 * Records that objects have been loaded or unloaded, so that the session's list of objects is out of date. If
 * mf_objects_scan() is not called afterwards, the list is updated at the next event whose call stack contains an
 * address in an unlisted object.
 */
void mf_objects_change(void);

/*
 * Returns the number of the object that contains @address, or MF_OBJECT_NONE. Takes the dynamic linker's lock only if
 * no listed object contains @address and the list may be out of date.
 */
uint32_t mf_objects_of(uint64_t address);

/*
 * Drops guessed unwind rules, because newly loaded objects may have invalidated them. Must be called after objects have
 * been loaded and before their code runs. If the shim is not notified of every load, guesses must not be cached at all
 * (mf_rule_cache_keep_guesses is false).
 */
void mf_objects_come(void);

/* Returns a number that changes whenever loading or unloading an object invalidates data that is cached by address. */
static inline uint32_t mf_objects_generation(void)
{
	return __atomic_load_n(&mf_objects_retired, __ATOMIC_ACQUIRE);
}

/*
 * In a forked child: releases the scan lock. If the fork interrupted a scan, makes sure that the scan will be repeated.
 */
void mf_objects_reset(void);

#endif
