/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A name file: the names found for addresses in one object, stored in the user's cache directory (base/cachedir.h). A
 * later run that prints these addresses then needs neither symbol tables nor debug information.
 *
 * A name file is named after the object's build id. It also lists the files that the names were read from (sources.h),
 * and is valid only while those files are unchanged: if debug information has been installed, changed or removed since
 * then, names may differ. Before anything is used, the checksum, the layout and every reference are verified; a file
 * that fails verification is treated as missing.
 */
#ifndef MASSIF_SYMBOLS_NAMEFILE_H
#define MASSIF_SYMBOLS_NAMEFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/object.h"
#include "symbols/sources.h"

#define MF_NAMEFILE_NAME_SIZE	(2 * MF_BUILD_ID_MAX + sizeof(".names"))
#define MF_NAMEFILE_BYTES_MAX	(4u << 20)
#define MF_NAMEFILE_RECORDS_MAX (1u << 15)

/*
 * Each text is stored as an offset into the file's text area; 0 means that there is no text, which is not the same as
 * "".
 */
struct mf_namefile_position {
	uint32_t function; /* name of an inlined function */
	uint32_t directory, file;
	uint32_t line;
};

struct mf_namefile_record {
	uint64_t address; /* link-time address that was looked up */
	uint64_t offset;  /* bytes from the start of the function to the looked-up address */
	uint32_t function; /* name of the address's function in the symbol table */
	/*
	 * range of the address's source locations in the file's positions, innermost first; @count is 0 if they were
	 * not looked up
	 */
	uint32_t first, count;
	uint32_t shown; /* the function's demangled name, or 0 if it was not looked up */
};

struct mf_namefile_source {
	struct mf_source file;
	uint32_t path;
	uint32_t reserved;
};

struct mf_namefile {
	uint64_t magic;
	uint32_t version;
	uint32_t sum; /* checksum of the whole file except this field */
	uint8_t build_id[MF_BUILD_ID_MAX];
	uint8_t build_id_size;
	uint8_t reserved[3];
	uint32_t n_records, n_positions, n_sources, n_text;
	struct mf_namefile_record records[]; /* records sorted by address, followed by positions, sources and text */
};

/*
 * Returns whether names of @object can be stored in a name file: it must be a file with a path and with a build id that
 * is long enough to identify it.
 */
bool mf_namefile_is_for(const struct mf_object *object);

/*
 * Returns whether the @size bytes at @file, which must have been allocated with malloc(), are a name file of @object.
 * Does not check whether its sources have changed since.
 */
bool mf_namefile_is_right(const struct mf_namefile *file, size_t size, const struct mf_object *object);

/* Fills @sources with the files that the names were read from. The paths point into @file. */
void mf_namefile_sources(const struct mf_namefile *file, struct mf_sources *sources);

/*
 * Reads the name file of @object from the directory @path. Returns memory to be freed by the caller, or NULL if there
 * is no valid file.
 */
struct mf_namefile *mf_namefile_read(const char *path, const struct mf_object *object);

/* Returns the record for @address, or NULL if the file has none. */
const struct mf_namefile_record *mf_namefile_find(const struct mf_namefile *file, uint64_t address);

/* Returns the source position with index @n in @record; @n must be less than @record->count. */
const struct mf_namefile_position *mf_namefile_position(const struct mf_namefile *file,
							const struct mf_namefile_record *record,
							uint32_t n);

/* Returns the text at offset @text, or NULL for offset 0. */
const char *mf_namefile_text(const struct mf_namefile *file, uint32_t text);

/* A name file under construction; zero-initialise it. */
struct mf_namefile_draft {
	struct mf_namefile_record *records;
	struct mf_namefile_position *positions;
	char *text;
	uint32_t n_records, n_positions, n_text;
	uint32_t records_room, positions_room, text_room;
	uint32_t *texts; /* hash table (open addressing) of the offsets of all texts in @text; 0 marks a free slot */
	uint32_t n_texts, texts_room; /* texts_room: size of the hash table of texts, a power of two or 0 */
	bool failed; /* out of memory, or the name file would be too large */
};

/*
 * The mf_namefile_add_*() functions add to the draft. For each address, first add the texts to which its record refers,
 * then the record, the record's demangled name, and its positions.
 */
uint32_t mf_namefile_add_text(struct mf_namefile_draft *draft, const char *text);
void mf_namefile_add_record(struct mf_namefile_draft *draft, uint64_t address,
			    uint32_t function, uint64_t offset);
void mf_namefile_add_shown(struct mf_namefile_draft *draft, uint32_t shown);
void mf_namefile_add_position(struct mf_namefile_draft *draft, struct mf_namefile_position position);

/* Copies records from @file to @draft for those addresses that @draft does not contain yet. */
void mf_namefile_add_others(struct mf_namefile_draft *draft, const struct mf_namefile *file);

/*
 * Turns the draft into a name file of @object. Returns a buffer of *@size bytes, which the caller frees, or NULL if the
 * draft is empty or too large, or if out of memory.
 */
struct mf_namefile *mf_namefile_make(struct mf_namefile_draft *draft, const struct mf_object *object,
				     const struct mf_sources *sources, size_t *size);

/* Writes @file to the directory @path. Errors are ignored: they merely cost the next run some time. */
void mf_namefile_write(const char *path, const struct mf_namefile *file, size_t size);

void mf_namefile_draft_deinit(struct mf_namefile_draft *draft);

#endif
