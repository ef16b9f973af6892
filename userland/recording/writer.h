/* SPDX-License-Identifier: GPL-2.0 */
/* Writes a profile, with everything that is known of it, as a process of a recording. */
#ifndef MASSIF_RECORDING_WRITER_H
#define MASSIF_RECORDING_WRITER_H

#include "base/error.h"
#include "profile/profile.h"
#include "base/bytes.h"
#include "recording/facts.h"
#include "symbols/symbolizer.h"

/*
 * Adds the sections of one process to @file: @facts, and @profile with unpruned trees. @end is what the process held at
 * the end, with a tree, whether or not the profile has a snapshot of it; its contexts are those of @profile.
 * @symbolizer was created with the profile's objects; the names of all frames are looked up. Returns 0, -ENOMEM or -E2BIG.
 */
int mf_recording_add(struct mf_bytes *file, const struct mf_facts *facts, const struct mf_profile *profile,
		     const struct mf_profile_snapshot *end, struct mf_symbolizer *symbolizer, struct mf_error *err);

/*
 * Adds the contents of a section of names to @contents: what @symbolizer knows about the @n frames. Returns 0 or -ENOMEM.
 */
int mf_recording_add_names(struct mf_bytes *contents, const struct mf_frame *frames, size_t n,
			   struct mf_symbolizer *symbolizer);

#endif
