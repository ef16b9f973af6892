/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Looks up the names of a recording again, in files that are found by their build ids, and puts them into a copy of the
 * recording. All other sections of the copy are those of the original, byte for byte.
 */
#ifndef MASSIF_RECORDING_NAMING_H
#define MASSIF_RECORDING_NAMING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/error.h"
#include "recording/reader.h"
#include "report/index.h"
#include "symbols/symbolizer.h"

/* A file of which a recording has frames. Processes share files. */
struct mf_naming_file {
	const struct mf_object *object; /* one of the objects mapped from it; belongs to the recording */
	/* numbers of frames, each counted once for each process: all; with a name; with a line */
	size_t n_frames, named_before, named, lines_before, lines;
	bool opened;	    /* names were looked up, so the members below are valid */
	bool readable;	    /* a file with its build id was found */
	unsigned int found; /* what the files have, MF_IMAGE_* */
	char *why;	    /* why names are missing, or NULL */
};

struct mf_naming {
	struct mf_symbolizer_options options; /* how names are looked up; with a search */
	struct mf_naming_file *files;
	size_t n_files;
	size_t n_better; /* number of frames whose names are better now */

	struct mf_index index; /* number of each file, by a hash of its path and build id */
	size_t room;
};

/*
 * Adds to @out a copy of the recording in @file, which was read into @recording, with the names that naming->options
 * find. A frame keeps its names unless it gets better ones: lines and inlined calls are better than a function alone.
 * Names are looked up only for frames without a line, in files with a build id. Fills in the other members of @naming.
 * Returns 0, -ENOMEM, or -E2BIG if a section becomes too large.
 */
int mf_naming_copy(struct mf_naming *naming, const struct mf_bytes *file, struct mf_recording *recording,
		   struct mf_bytes *out, struct mf_error *err);
void mf_naming_deinit(struct mf_naming *naming);

#endif
