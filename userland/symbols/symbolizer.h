/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Finds functions, files and lines for addresses, with elfutils' libdw and libiberty's demangler. These run in
 * unprivileged processes, one per file (parser.h).
 */
#ifndef MASSIF_SYMBOLS_SYMBOLIZER_H
#define MASSIF_SYMBOLS_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "symbols/names.h"
#include "symbols/search.h"
#include "profile/object.h"

/* One source position. A frame with inlined calls has several, innermost first. */
struct mf_location {
	const char *function;  /* name of the function, demangled if requested; NULL if unknown */
	const char *directory; /* directory of the source file, as in DWARF; NULL if unknown */
	const char *file;      /* base name of the source file, or NULL if there is no line information */
	unsigned int line;
	const char *object; /* path of the ELF file, or NULL if unknown */
	uint64_t offset;    /* bytes from the start of the function; 0 for inlined functions */
	/* text shown instead of a position (MF_OBJECT_NOTE); if it is set, the other members are not */
	const char *note;
};

struct mf_symbolizer_options {
	bool demangle;
	bool inlines; /* also find the inlined calls at an address */
	/*
	 * Progress callback, or NULL. If mf_symbolizer_prepare() takes a long time, it calls this repeatedly while it
	 * is running, and then once more at the end with @done == @total.
	 */
	void (*progress)(size_t done, size_t total);
	const struct mf_search *search; /* where else files are looked for; may be NULL; must outlive the symbolizer */
	struct mf_names *names; /* names shared with other symbolizers; may be NULL */
	/*
	 * If not NULL: called when names are needed from the file @path and it cannot be read or is not the file that
	 * was mapped. May be called from any thread, and several times for one file.
	 */
	void (*unreadable)(const char *path, const char *why);
	/*
	 * If not NULL: called when a process that reads files was able to drop only some of its privileges, namely
	 * those in @confined (MF_CONFINED_*), because the kernel refused to drop the others. May be called from any
	 * thread, and more than once.
	 */
	void (*loose)(unsigned int confined);
	unsigned int patience_ms; /* time limit for one file; 0: MF_PARSER_PATIENCE_S */
	bool closed; /* read no files: only the names passed to mf_symbolizer_give() are known */
	bool unconfined; /* read the files in this process instead of in a child; for fuzzers and for comparison */
};

struct mf_symbolizer;
struct mf_parser_state;

/* Creates a symbolizer. @objects must outlive it. Returns 0 or -errno. */
int mf_symbolizer_create(const struct mf_object *objects, size_t n_objects,
			 const struct mf_symbolizer_options *options,
			 struct mf_symbolizer **symbolizer, struct mf_error *err);
void mf_symbolizer_destroy(struct mf_symbolizer *symbolizer);

/*
 * Returns how many positions @frame has, at least one, and the positions in *@locations. If nothing is known, there is
 * a single position whose members are all NULL or 0. The positions are valid until the symbolizer is destroyed. Never
 * fails: whatever cannot be read is reported as unknown.
 */
size_t mf_symbolizer_resolve(struct mf_symbolizer *symbolizer, struct mf_frame frame,
			     const struct mf_location **locations);

/*
 * Makes the symbolizer answer with @locations for @frame, for names that were found earlier. There are @n of them, at
 * least one; the members @object and @note are filled in. The strings and @locations must outlive the symbolizer.
 * Returns false if out of memory.
 */
bool mf_symbolizer_give(struct mf_symbolizer *symbolizer, struct mf_frame frame, struct mf_location *locations,
			size_t n);

/*
 * mf_symbolizer_prepare() looks up all frames announced with mf_symbolizer_want(), reading several files at a time.
 * Frames that were not announced, and frames that are left out for lack of memory, are looked up when they are needed.
 */
void mf_symbolizer_want(struct mf_symbolizer *symbolizer, struct mf_frame frame);
void mf_symbolizer_prepare(struct mf_symbolizer *symbolizer);

/*
 * Returns the result of opening the files of object @number, or NULL if no name was looked up in them: there was no need
 * to, or it is known from other symbolizers.
 */
const struct mf_parser_state *mf_symbolizer_state(const struct mf_symbolizer *symbolizer, uint32_t number);

/*
 * Announces that mf_symbolizer_function() will be called for @frame soon. Announced frames are looked up together,
 * which is cheaper.
 */
void mf_symbolizer_expect(struct mf_symbolizer *symbolizer, struct mf_frame frame);

/*
 * Returns only the function at @frame, ignoring inlined calls, that is, the function that mf_symbolizer_resolve() would
 * return in the last position; NULL if unknown. Much cheaper than mf_symbolizer_resolve(), since it needs no DWARF.
 */
const char *mf_symbolizer_function(struct mf_symbolizer *symbolizer, struct mf_frame frame);

#endif
