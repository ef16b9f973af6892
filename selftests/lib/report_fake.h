/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks written as words, and a symbolizer that knows nothing but them.
 *
 * A stack is its frames, innermost first, with `|` between them: "f|main". A frame with inlined
 * calls has `/` between its functions, innermost first: "inner/outer". `?` is no name. The same
 * word is the same address; the first word ever used has address 0x10, the next 0x20, and so on.
 */
#ifndef MASSIF_SELFTESTS_REPORT_FAKE_H
#define MASSIF_SELFTESTS_REPORT_FAKE_H

#include <stddef.h>

#include "profile/profile.h"
#include "symbols/symbolizer.h"

#define FAKE_FRAMES_MAX 300

/* Forgets all words. */
void fake_reset(void);

/* Fills @frames with the stack that @words says. Returns the number of frames. */
size_t fake_stack(const char *words, struct mf_frame frames[FAKE_FRAMES_MAX]);

/* The words of frames, to be freed. */
char *fake_words(const struct mf_frame *frames, size_t count);

/* The objects that all such frames refer to, [1] is "/bin/fake"; and how many. */
extern const struct mf_object fake_objects[];
#define FAKE_OBJECTS 2

/* How often an address was looked up, for its function alone or with all its positions. */
extern size_t fake_functions_asked, fake_positions_asked;

#endif
