/* SPDX-License-Identifier: GPL-2.0 */
/* How much of the process's address space belongs to the shim. */
#ifndef MASSIF_PRELOAD_OWN_MEMORY_H
#define MASSIF_PRELOAD_OWN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Number of bytes that the kernel attributes to the shim: for RLIMIT_AS, all mappings; for RLIMIT_DATA, private
 * writable ones.
 */
uint64_t mf_own_memory_address_space(void);
uint64_t mf_own_memory_data(void);

/*
 * Account for @bytes of private memory that the shim has mapped and will never unmap: mf_own_memory_add() for writable
 * memory, mf_own_memory_add_code() for code, which does not count as data.
 */
void mf_own_memory_add(size_t bytes);
void mf_own_memory_add_code(size_t bytes);

/*
 * Record in the session that @bytes at @at are the shim's private memory, or no longer are, so that samples of the resident set
 * do not count them as the program's. If the session's table is full, they count as the program's.
 */
void mf_own_memory_note(const void *at, size_t bytes);
void mf_own_memory_forget(const void *at);

/* Records the shim's image, and where its threads' states are. */
void mf_own_memory_note_image(void);

/* Does @address lie in the shim's image or the session memory? Small mappings of the shim are not considered. */
bool mf_own_memory_has(uint64_t address);

#endif
