/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names found by one symbolizer, for use by the next: forked processes share their code, so the debug information need
 * not be read again for each output file. With a name file (namefile.h), the next run can use the names, too.
 *
 * Names are kept only for files with a build id, since another file of the same name need not contain the same code.
 * Only one thread at a time may call these functions for a given file.
 */
#ifndef MASSIF_SYMBOLS_NAMES_H
#define MASSIF_SYMBOLS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/object.h"

struct mf_location;
struct mf_names;
struct mf_names_file;
struct mf_sources;

/* Everything known about the code at one link-time address. */
struct mf_names_answer {
	uint64_t address;
	bool function_known;
	const char *symbol;   /* the function's name in the symbol table, or NULL if it has none */
	const char *function; /* the function's name as printed */
	uint64_t offset;
	const struct mf_location *locations; /* source positions of the address; NULL if unknown */
	size_t n_locations;
};

/*
 * Returns an empty collection of names, or NULL if out of memory. All symbolizers that use the collection must have the
 * same options.
 */
struct mf_names *mf_names_create(void);
void mf_names_destroy(struct mf_names *names);

/*
 * Starts keeping names. Until this function or mf_names_begin_with() is called, no names are kept: with a single
 * process, there is no second symbolizer in the same run that could use them.
 */
void mf_names_begin(struct mf_names *names);

/*
 * Starts keeping names, and also uses the names that earlier runs saved in the cache directory @path (base/cachedir.h);
 * "" means no directory. The symbolizers that use @names must have the lookup of inlined calls enabled; @demangle says
 * whether they demangle.
 */
void mf_names_begin_with(struct mf_names *names, const char *path, bool demangle);

/* Writes the new names to the cache directory. */
void mf_names_save(const struct mf_names *names);

/*
 * Returns the names found in the file of @object, or NULL if no names are kept for this file. The result is valid until
 * @names is destroyed.
 */
struct mf_names_file *mf_names_file(struct mf_names *names, const struct mf_object *object);

/*
 * Tells @file that the names to be kept from now on come from the files in @sources. NULL means that some of them also
 * come from unknown files, so these names must not be saved for later runs. In this function and those below, @file may
 * be NULL.
 */
void mf_names_made_from(struct mf_names_file *file, const struct mf_sources *sources);

/*
 * Returns the names kept for @address, or NULL if there are none. The result is valid until the next call to
 * mf_names_find() or to one of the mf_names_keep_*() functions.
 */
const struct mf_names_answer *mf_names_find(struct mf_names_file *file, uint64_t address);

/*
 * Keep copies of the names or positions that were found for @address; if out of memory, keep nothing. @function is the
 * name as printed.
 */
void mf_names_keep_function(struct mf_names_file *file, uint64_t address, const char *symbol,
			    const char *function, uint64_t offset);
void mf_names_keep_locations(struct mf_names_file *file, uint64_t address,
			     const struct mf_location *locations, size_t n);

#endif
