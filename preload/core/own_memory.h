/* SPDX-License-Identifier: GPL-2.0 */
/* What of the process's address space is the shim's own. */
#ifndef MASSIF_PRELOAD_OWN_MEMORY_H
#define MASSIF_PRELOAD_OWN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As the kernel counts for RLIMIT_AS: all that is mapped; for RLIMIT_DATA: what is private and writable. */
uint64_t mf_own_memory_address_space(void);
uint64_t mf_own_memory_data(void);

/* The shim has mapped @bytes of private memory for good: writable, or for code, which does not count as data. */
void mf_own_memory_add(size_t bytes);
void mf_own_memory_add_code(size_t bytes);

/* Is there something at @address that the shim has mapped, or that was mapped for it? Not the small mappings. */
bool mf_own_memory_has(uint64_t address);

#endif
