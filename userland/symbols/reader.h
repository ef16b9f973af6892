/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads names out of the files of one object. The bytes of these files are whatever somebody wrote, so this runs in a
 * process without rights (parser.h), unless ours has none either.
 */
#ifndef MASSIF_SYMBOLS_READER_H
#define MASSIF_SYMBOLS_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/image.h"
#include "profile/object.h"
#include "symbols/positions.h"

struct mf_reader;

struct mf_reader_options {
	bool demangle;
	bool inlines;
};

/* What is to be found for one address. */
enum {
	MF_READER_FUNCTION = 1 << 0,
	MF_READER_POSITIONS = 1 << 1,
};

struct mf_reader_question {
	uint64_t address; /* link-time */
	uint32_t wanted;
	uint32_t reserved;
};

/* The strings are valid until the next answer. */
struct mf_reader_answer {
	const char *symbol; /* as in the file; NULL: none, or it was not asked for */
	const char *shown;  /* and as it is shown */
	uint64_t offset;    /* from its start */
	bool split;	    /* positions come from further files (.dwo), too */
	uint32_t n;	    /* positions, innermost first; 0: they were not asked for */
	struct mf_position positions[MF_POSITIONS_MAX];
};

/* Opens the files of @object, which must outlive it, by @open with @opener. NULL: memory is short. */
struct mf_reader *mf_reader_create(const struct mf_object *object, const struct mf_reader_options *options,
				   mf_image_opening *open, void *opener);
void mf_reader_destroy(struct mf_reader *reader); /* NULL is allowed */

/* What was opened. */
const struct mf_image *mf_reader_image(const struct mf_reader *reader);

void mf_reader_find(struct mf_reader *reader, const struct mf_reader_question *question,
		    struct mf_reader_answer *answer);

#endif
