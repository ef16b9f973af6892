/* SPDX-License-Identifier: GPL-2.0 */
/* Tests whether memory can be read. */
#ifndef MASSIF_PRELOAD_READABLE_H
#define MASSIF_PRELOAD_READABLE_H

#include <stdbool.h>
#include <stdint.h>

/* Can the 8 bytes at @address be read now? Makes a system call; preserves errno. */
bool mf_readable_word(uint64_t address);

/* Can the string @text be read up to and including its NUL? Makes one system call per page. */
bool mf_readable_text(const char *text);

/*
 * Returns whether the array @texts, up to and including its final NULL, and all strings that it points to can be read.
 * Makes one system call per page if the strings are in ascending order in memory.
 */
bool mf_readable_texts(char *const *texts);

/*
 * Stops these functions from making system calls (if @forbids is true), or lets them go on. Without system calls, they report
 * all memory as unreadable. Used for seccomp's strict mode, in which futex(2) would kill the program.
 */
void mf_readable_forbid(bool forbids);
bool mf_readable_is_forbidden(void);

#endif
