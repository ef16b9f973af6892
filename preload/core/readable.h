/* SPDX-License-Identifier: GPL-2.0 */
/* Tests whether memory can be read. */
#ifndef MASSIF_PRELOAD_READABLE_H
#define MASSIF_PRELOAD_READABLE_H

#include <stdbool.h>
#include <stdint.h>

/* Can the 8 bytes at @address be read now? Makes a system call; keeps errno. */
bool mf_readable_word(uint64_t address);

/* Can the text be read up to its NUL? One system call a page. */
bool mf_readable_text(const char *text);

/* Can the pointers be read up to the first NULL, and their texts? One system call a page if they lie in order. */
bool mf_readable_texts(char *const *texts);

/*
 * Stops making system calls; from now on all memory counts as unreadable. For seccomp's strict mode, where futex(2)
 * would kill the program.
 */
void mf_readable_forbid(void);
bool mf_readable_is_forbidden(void);

#endif
