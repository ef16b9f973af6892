/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Unwind rules that earlier runs found, from files that massif-ctl keeps (cfi/rowfile.h). The files also record which
 * code was searched and found to contain no client requests. New findings are recorded in the session memory, and
 * massif-ctl writes them to the files after the program has ended.
 */
#ifndef MASSIF_PRELOAD_ROWCACHE_H
#define MASSIF_PRELOAD_ROWCACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/store.h"
#include "cfi/rows.h"

/*
 * If massif-ctl has specified a directory of unwind rule files, reads the files for the objects in @store. Called once,
 * before the program runs. Later would be too late: a sandbox might forbid opening files, and the program could see the
 * descriptor while a file is open.
 */
void mf_rowcache_open(struct mf_store *store);

/*
 * Finds the unwind rule for the code at @pc in the files of rules that earlier runs found. Returns false if there is
 * none. Takes no lock.
 */
bool mf_rowcache_find(uint64_t pc, struct mf_cfi_rule *rule);

/* Records, for later runs, an unwind rule that is missing from the cache files of earlier runs. */
void mf_rowcache_note(uint64_t pc, const struct mf_cfi_rule *rule);

/* Returns whether the object at @address, which has @bytes bytes of code, is known to contain no client requests. */
bool mf_rowcache_has_no_request(uint64_t address, uint64_t bytes);

/* Records that the object at @address was searched and contains no client requests. */
void mf_rowcache_note_searched(uint64_t address);

#endif
