/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What one symbolizer found out about code, for the next one: processes that fork have the same code, and
 * its debug information is not read again for each of their files. And for the next run, which begins with
 * what this one has found (namefile.h).
 *
 * Only of files with a build id: another one under the same name is not the same code. Of one file, one
 * thread at a time.
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

/* Of the code at one link-time address. */
struct mf_names_answer {
	uint64_t address;
	bool function_known;
	const char *symbol;   /* as in the file; NULL: it has no name */
	const char *function; /* and as it is shown */
	uint64_t offset;
	const struct mf_location *locations; /* NULL: not known */
	size_t n_locations;
};

/* NULL if memory is short. All symbolizers that are given it have the same options. */
struct mf_names *mf_names_create(void);
void mf_names_destroy(struct mf_names *names);

/* Until one of these nothing is kept: of one process, nobody would ask again in the same run. */
void mf_names_begin(struct mf_names *names);

/*
 * Begins with what earlier runs left in the cache directory @path (base/cachedir.h); an empty one is none.
 * For symbolizers that read inlined calls, and demangle if @demangle.
 */
void mf_names_begin_with(struct mf_names *names, const char *path, bool demangle);

/* Leaves what is new in that directory. */
void mf_names_save(const struct mf_names *names);

/* The file of @object; NULL if nothing is known or kept of it. It stays until @names are destroyed. */
struct mf_names_file *mf_names_file(struct mf_names *names, const struct mf_object *object);

/*
 * What the answers that are kept from now on come from; NULL: that is not all that they come from, and they
 * are not for another run. Here and below, @file may be NULL.
 */
void mf_names_made_from(struct mf_names_file *file, const struct mf_sources *sources);

/* NULL: nothing is known. Valid until the next answer is asked for or kept. */
const struct mf_names_answer *mf_names_find(struct mf_names_file *file, uint64_t address);

/* Keeps copies. Where memory is short nothing is kept. @function: as it is shown. */
void mf_names_keep_function(struct mf_names_file *file, uint64_t address, const char *symbol,
			    const char *function, uint64_t offset);
void mf_names_keep_locations(struct mf_names_file *file, uint64_t address,
			     const struct mf_location *locations, size_t n);

#endif
