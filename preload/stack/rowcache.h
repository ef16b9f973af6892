/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rules that earlier programs found, from the files that massif-ctl keeps (cfi/rowfile.h), and what
 * code they looked through in vain; and what was not there, told to massif-ctl, which writes it when
 * the program has ended.
 */
#ifndef MASSIF_PRELOAD_ROWCACHE_H
#define MASSIF_PRELOAD_ROWCACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/store.h"
#include "cfi/rows.h"

/*
 * Reads the files of the objects in @store, if massif-ctl has said where. Once, before the program
 * runs: later, it may have forbidden itself to open files, and would see the descriptor.
 */
void mf_rowcache_open(struct mf_store *store);

/* The rule for the code at @pc, if it is in one of these files. Takes no lock. */
bool mf_rowcache_find(uint64_t pc, struct mf_cfi_rule *rule);

/* It was not, and has been found otherwise. */
void mf_rowcache_note(uint64_t pc, const struct mf_cfi_rule *rule);

/* Is it known that there is no client request in the object with code at @address, @bytes of it in all? */
bool mf_rowcache_has_no_request(uint64_t address, uint64_t bytes);

/* It was not, and there is none. */
void mf_rowcache_note_searched(uint64_t address);

#endif
