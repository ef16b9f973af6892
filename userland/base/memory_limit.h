/* SPDX-License-Identifier: GPL-2.0 */
/* Keeps a file that needs too much memory from taking all of the machine's. */
#ifndef MASSIF_BASE_MEMORY_LIMIT_H
#define MASSIF_BASE_MEMORY_LIMIT_H

/*
 * Limits the address space of this process, and of those that it starts, to half of the machine's memory, unless it is
 * limited to less. Beyond, malloc() fails, which is reported; without the limit, the kernel would first swap out other
 * programs, and then kill one. Has no effect in programs built with AddressSanitizer or ThreadSanitizer, whose address
 * space is much larger than their memory.
 */
void mf_memory_limit(void);

#endif
