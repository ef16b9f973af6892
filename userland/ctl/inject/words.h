/* SPDX-License-Identifier: GPL-2.0 */
/* The words of a process that an attach changes (protocol/late.h). */
#ifndef MASSIF_CTL_WORDS_H
#define MASSIF_CTL_WORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "protocol/late.h"

/* Reads the list of words from process @pid. Returns 0 or -errno; the caller frees *@words. */
int mf_words_read(pid_t pid, const struct mf_late *late, struct mf_late_word **words, struct mf_error *err);

/* Writes a word of the process of which @tid is a stopped thread, even if its memory is read-only. */
bool mf_words_poke(pid_t tid, uint64_t address, uint64_t value);

/*
 * Gives the first @n words their new values, if @forward is true, or their old ones. Words that have neither belong to the
 * program by now, and stay. If a word cannot be written, returns false; no word has its new value then.
 */
bool mf_words_write(pid_t pid, pid_t tid, const struct mf_late_word *words, uint32_t n, bool forward);

#endif
