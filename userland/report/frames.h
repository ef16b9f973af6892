/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The distinct frames of a profile, numbered from 0.
 *
 * Two frames are the same if they have the same address in the same code. An object that was
 * unmapped and mapped again at the same place is the same code, although the profile lists it
 * twice; of such objects a frame names the one that was never unloaded, if there is one.
 */
#ifndef MASSIF_REPORT_FRAMES_H
#define MASSIF_REPORT_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/object.h"

#define MF_FRAMES_NONE UINT32_MAX

struct mf_frames;

/* @objects are read now and not kept. Returns 0 or -ENOMEM. */
int mf_frames_create(const struct mf_object *objects, size_t n_objects, struct mf_frames **frames,
		     struct mf_error *err);
void mf_frames_destroy(struct mf_frames *frames);

/* The number of @frame, a new one if it was never seen; MF_FRAMES_NONE if memory is short. */
uint32_t mf_frames_intern(struct mf_frames *frames, struct mf_frame frame);

/*
 * The same, of the frame at @position of a stack, counted from the outermost one: stacks that are asked about
 * one after the other have most of their outer frames in common.
 */
uint32_t mf_frames_intern_at(struct mf_frames *frames, struct mf_frame frame, uint32_t position);

/* How many numbers were given. */
uint32_t mf_frames_count(const struct mf_frames *frames);

/* The frame of a number that mf_frames_intern() gave. */
struct mf_frame mf_frames_get(const struct mf_frames *frames, uint32_t number);

#endif
