/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The words through which objects call the allocation functions: entries of their global offset tables, and pointers in
 * their data that the dynamic linker has set. A shim that was loaded into a running process precedes nothing in the
 * dynamic linker's order of search, so these words are its only way to see calls.
 *
 * A process is refused if several objects could be meant by one name: then a block might be freed by another allocator
 * than the one that it came from.
 */
#ifndef MASSIF_PRELOAD_SLOTS_H
#define MASSIF_PRELOAD_SLOTS_H

#include <link.h>
#include <stdint.h>

struct mf_late_word;

/*
 * Between mf_slots_begin() and mf_slots_end(), mf_slots_arrived() collects the words of the objects, and mf_slots_add()
 * adds a word at @address that is to become @fresh. mf_slots_end() returns 0 and stores the @n words in *@words, or
 * -errno and *@reason. After it, mf_slots_arrived() and mf_slots_done() bind new objects, which have not been relocated
 * yet, to the shim's functions.
 */
void mf_slots_begin(void);
void mf_slots_arrived(const struct dl_phdr_info *object);
void mf_slots_done(void);
void mf_slots_add(uint64_t address, uint64_t fresh);
int mf_slots_end(const struct mf_late_word **words, uint32_t *n, const char **reason);

#endif
