/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers the distinct frames of a profile, from 0.
 *
 * Two frames are the same if they have the same address in the same code. An object that was unmapped and mapped again
 * at the same address contains the same code, although the profile lists it twice. In this case, frames refer to the
 * object that is still loaded, or else to the first one.
 */
#ifndef MASSIF_REPORT_FRAMES_H
#define MASSIF_REPORT_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/object.h"

#define MF_FRAMES_NONE UINT32_MAX

struct mf_frames;

/* Creates an empty set of frames. @objects is only read during this call. Returns 0 or -ENOMEM. */
int mf_frames_create(const struct mf_object *objects, size_t n_objects, struct mf_frames **frames,
		     struct mf_error *err);
void mf_frames_destroy(struct mf_frames *frames);

/*
 * Returns the number of @frame, assigning a new one if the frame has not been seen before. Returns MF_FRAMES_NONE if
 * out of memory.
 */
uint32_t mf_frames_intern(struct mf_frames *frames, struct mf_frame frame);

/*
 * Like mf_frames_intern(), for the frame at @position of a stack, counted from the outermost frame, but faster, because
 * successive stacks usually share most of their outer frames.
 */
uint32_t mf_frames_intern_at(struct mf_frames *frames, struct mf_frame frame, uint32_t position);

/* Returns the number of distinct frames. */
uint32_t mf_frames_count(const struct mf_frames *frames);

/* Returns the frame for a number returned by mf_frames_intern(). */
struct mf_frame mf_frames_get(const struct mf_frames *frames, uint32_t number);

#endif
