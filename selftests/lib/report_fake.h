/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks written as text, and a symbolizer for them.
 *
 * A stack is a list of frames, innermost first, separated by `|`: "f|main". A frame with inlined calls is a list of
 * functions, innermost first, separated by `/`: "inner/outer". A frame `?` has no name. Each distinct frame text stands
 * for a code address: the first one used stands for 0x10, the next new one for 0x20, and so on.
 */
#ifndef MASSIF_SELFTESTS_REPORT_FAKE_H
#define MASSIF_SELFTESTS_REPORT_FAKE_H

#include <stddef.h>

#include "profile/profile.h"
#include "symbols/symbolizer.h"

#define FAKE_FRAMES_MAX 300

/* Forgets all fake frames, along with their texts and code addresses, and resets the lookup counts. */
void fake_reset(void);

/* Fills @frames with the stack described by @words. Returns the number of frames. */
size_t fake_stack(const char *words, struct mf_frame frames[FAKE_FRAMES_MAX]);

/* Returns the text of @frames, which the caller must free. */
char *fake_words(const struct mf_frame *frames, size_t count);

/* The objects to which the addresses of the frames belong, and the number of these objects. Object 1 is "/bin/fake". */
extern const struct mf_object fake_objects[];
#define FAKE_OBJECTS 2

/*
 * Number of look-ups that requested only the name of the function at an address, and number of look-ups that requested
 * all source positions of an address.
 */
extern size_t fake_functions_asked, fake_positions_asked;

#endif
