/* SPDX-License-Identifier: GPL-2.0 */
/* Reads recordings. Whatever is in the file, the profiles that are read contain no invalid references. */
#ifndef MASSIF_RECORDING_READER_H
#define MASSIF_RECORDING_READER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/profile.h"
#include "recording/facts.h"
#include "recording/section.h"
#include "symbols/arena.h"
#include "symbols/symbolizer.h"

/* A process of a recording. It must not be moved, because its profile points into it. */
struct mf_recorded {
	struct mf_facts facts;
	struct mf_profile profile;
	/* what the process held at the end, with a tree, whether or not the profile has a snapshot of it */
	const struct mf_profile_snapshot *end;
	struct mf_symbolizer *symbolizer; /* knows the recorded names, and reads no other file */

	/* The contents of the sections, to which texts point, and what was made of them. */
	struct {
		uint8_t *data;
		size_t size;
		size_t begin, end; /* where the section is in the file, with its head */
	} sections[MF_SECTION_TYPES];
	struct mf_object *objects;
	struct mf_frame *frames;
	struct mf_recorded_node {
		uint32_t parent, frame;
	} *nodes;
	uint32_t *contexts; /* node of each context's innermost frame; 0: none */
	size_t n_frames, n_nodes;
	struct mf_counts *counts;
	struct mf_context_details *details;
	struct mf_class_count *classes; /* those of all sizes and lifetimes */
	struct mf_class_count *age_classes;
	struct mf_thread_info *threads;
	uint32_t *context_threads;
	struct mf_thread_total *thread_totals;
	uint8_t *functions;
	struct mf_residency residency;
	struct mf_first_touches touches;
	struct mf_recorded *touched; /* the profile of the first touches, or NULL; its stacks have no kind of page */
	struct mf_size_class sizes[MF_SIZE_CLASSES];
	struct mf_profile_snapshot *snapshots;
	struct mf_leaf *leaves;
	struct mf_arena names;
	bool out_of_memory; /* why the process could not be read */
};

struct mf_recording {
	struct mf_recorded **processes; /* in the order in which they ended */
	size_t n_processes;
	char *damage; /* why the rest of the file cannot be read; NULL if all of it was read */
};

/*
 * Reads the recording in the file @path, or a massif.out file as if it were one (massif_text.h). If only the end of a
 * recording is missing or damaged, reads the processes before that, and sets recording->damage. Returns 0, or -errno
 * with a message in @err: -EINVAL if the file is neither.
 */
int mf_recording_read(const char *path, struct mf_recording *recording, struct mf_error *err);

/*
 * Reads a recording of which all is needed. Returns its bytes in @file, to be freed by the caller. Returns 0, or -errno
 * with a message in @err: -EINVAL also for a massif.out file.
 */
int mf_recording_read_whole(const char *path, struct mf_bytes *file, struct mf_recording *recording,
			    struct mf_error *err);
void mf_recording_release(struct mf_recording *recording);

#endif
