/* SPDX-License-Identifier: GPL-2.0 */
/* Whether memory can be read. */
#ifndef MASSIF_PRELOAD_READABLE_H
#define MASSIF_PRELOAD_READABLE_H

#include <stdbool.h>
#include <stdint.h>

/* Can the word at @address be read now? Takes a system call; keeps errno. */
bool mf_readable_word(uint64_t address);

/* Can the characters up to the first NUL be read? A call for each page. */
bool mf_readable_text(const char *text);

/* Can the pointers up to the first NULL be read, and their texts? A call for each page, if they lie in order. */
bool mf_readable_texts(char *const *texts);

/* From now on the kernel is not asked, as under seccomp's strict mode, which kills for it: nothing can be read. */
void mf_readable_forbid(void);
bool mf_readable_is_forbidden(void);

#endif
