/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is known of addresses of one object, in a file of the user's cache directory (base/cachedir.h): so
 * that the next run that prints them needs neither symbol tables nor debug information.
 *
 * A file is named by the object's build id. It says, too, which files it was made from (sources.h), and is
 * true only while these are what they were: debug information that was installed, changed or removed since
 * has other names. It is right or it is as if it were not there: sum, form, and each reference are looked
 * at before any of it is used.
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

/* Text is where it stands in the file's text; 0 is none, and "" is another. */
struct mf_namefile_position {
	uint32_t function; /* of an inlined call */
	uint32_t directory, file;
	uint32_t line;
};

struct mf_namefile_record {
	uint64_t address; /* link-time */
	uint64_t offset;  /* from the start of */
	uint32_t function; /* the name in the symbol table */
	uint32_t first, count; /* its positions, innermost first; none: nobody has asked for them */
	uint32_t shown; /* that name as it is shown when it is demangled; 0: nobody has asked for that */
};

struct mf_namefile_source {
	struct mf_source file;
	uint32_t path;
	uint32_t reserved;
};

struct mf_namefile {
	uint64_t magic;
	uint32_t version;
	uint32_t sum; /* over everything else */
	uint8_t build_id[MF_BUILD_ID_MAX];
	uint8_t build_id_size;
	uint8_t reserved[3];
	uint32_t n_records, n_positions, n_sources, n_text;
	struct mf_namefile_record records[]; /* by address; then positions, then sources, then text */
};

/* Can there be a file of @object? */
bool mf_namefile_is_for(const struct mf_object *object);

/* Are the @size bytes at @file, of malloc, that of @object? If it is still true, its sources tell. */
bool mf_namefile_is_right(const struct mf_namefile *file, size_t size, const struct mf_object *object);

/* What it was made from; the paths are the file's memory. */
void mf_namefile_sources(const struct mf_namefile *file, struct mf_sources *sources);

/*
 * Reads that of @object in the directory @path, to be released with free(); NULL: there is none that is
 * right and still true.
 */
struct mf_namefile *mf_namefile_read(const char *path, const struct mf_object *object);

/* NULL if the file does not say. */
const struct mf_namefile_record *mf_namefile_find(const struct mf_namefile *file, uint64_t address);

const struct mf_namefile_position *mf_namefile_position(const struct mf_namefile *file,
							const struct mf_namefile_record *record,
							uint32_t n);

/* NULL for 0. */
const char *mf_namefile_text(const struct mf_namefile *file, uint32_t text);

/* A new file in the making. An all-zero one is empty and ready. */
struct mf_namefile_draft {
	struct mf_namefile_record *records;
	struct mf_namefile_position *positions;
	char *text;
	uint32_t n_records, n_positions, n_text;
	uint32_t records_room, positions_room, text_room;
	uint32_t *texts; /* hash table, open addressing: where each is in @text; 0: free */
	uint32_t n_texts, texts_room; /* texts_room: a power of two, or 0 */
	bool failed; /* memory is short, or it is too large */
};

/* To be called in this order: text, the record, its name as it is shown, the positions of that record. */
uint32_t mf_namefile_add_text(struct mf_namefile_draft *draft, const char *text);
void mf_namefile_add_record(struct mf_namefile_draft *draft, uint64_t address,
			    uint32_t function, uint64_t offset);
void mf_namefile_add_shown(struct mf_namefile_draft *draft, uint32_t shown);
void mf_namefile_add_position(struct mf_namefile_draft *draft, struct mf_namefile_position position);

/* Adds what @file says of other addresses than those of @draft so far. */
void mf_namefile_add_others(struct mf_namefile_draft *draft, const struct mf_namefile *file);

/*
 * Makes the draft a file of @object, of *@size bytes, to be released with free(). NULL: it is empty, or too
 * large, or memory was short.
 */
struct mf_namefile *mf_namefile_make(struct mf_namefile_draft *draft, const struct mf_object *object,
				     const struct mf_sources *sources, size_t *size);

/* Puts it there. What goes wrong costs the next run some time and is not told. */
void mf_namefile_write(const char *path, const struct mf_namefile *file, size_t size);

void mf_namefile_draft_deinit(struct mf_namefile_draft *draft);

#endif
