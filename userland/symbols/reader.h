/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads names from the files of one object. These files may be hostile, so this runs in an unprivileged child process
 * (parser.h). If no child can be started, it runs in this process, provided that it is unprivileged, too.
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

/* Bits of mf_reader_question.wanted: what to look up for an address. */
enum {
	MF_READER_FUNCTION = 1 << 0,
	MF_READER_POSITIONS = 1 << 1,
};

struct mf_reader_question {
	uint64_t address; /* link-time address to look up */
	uint32_t wanted;
	uint32_t reserved;
};

/*
 * The answer to a struct mf_reader_question: what the object's files say about one address. The strings are valid until
 * the reader answers the next question.
 */
struct mf_reader_answer {
	/* the function's name in the symbol table, or NULL if there is none or it was not asked for */
	const char *symbol;
	const char *shown;  /* the function's name as printed */
	uint64_t offset;    /* bytes from the start of the function to the looked-up address */
	bool split;	    /* some positions came from files other than the debug information file (.dwo files) */
	uint32_t n;	    /* number of positions, which are ordered from the innermost one; 0 if none were requested */
	struct mf_position positions[MF_POSITIONS_MAX];
};

/*
 * Creates a reader, and opens the files of @object by calling @open with @opener. @object must outlive the reader.
 * Returns NULL if out of memory.
 */
struct mf_reader *mf_reader_create(const struct mf_object *object, const struct mf_reader_options *options,
				   mf_image_opening *open, void *opener);
void mf_reader_destroy(struct mf_reader *reader); /* does nothing if @reader is NULL */

/* Returns the object's file and its debug file, as they were opened. */
const struct mf_image *mf_reader_image(const struct mf_reader *reader);

/* Answers @question. Fields of @answer that are unknown are NULL or 0. */
void mf_reader_find(struct mf_reader *reader, const struct mf_reader_question *question,
		    struct mf_reader_answer *answer);

#endif
