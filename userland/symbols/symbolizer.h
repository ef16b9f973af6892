/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Addresses to functions, files and lines, by elfutils' libdw and libiberty's demangler. These run in processes
 * without rights, one for each file (parser.h).
 */
#ifndef MASSIF_SYMBOLS_SYMBOLIZER_H
#define MASSIF_SYMBOLS_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "symbols/names.h"
#include "profile/object.h"

/* One source position; a frame with inlined calls has several, innermost first. */
struct mf_location {
	const char *function;  /* demangled if asked for; NULL: unknown */
	const char *directory; /* of the source file, as DWARF tells it; NULL: unknown */
	const char *file;      /* base name; NULL: no line information */
	unsigned int line;
	const char *object; /* path of the ELF file; NULL: unknown */
	uint64_t offset;    /* from the function's start; 0 for inlined ones */
	const char *note;   /* words instead of a position (MF_OBJECT_NOTE); nothing else is set */
};

struct mf_symbolizer_options {
	bool demangle;
	bool inlines; /* read inlined calls */
	/*
	 * Called now and then while mf_symbolizer_prepare() takes long, and at its end with
	 * @done == @total if it was called before; may be NULL.
	 */
	void (*progress)(size_t done, size_t total);
	struct mf_names *names; /* what others found out; may be NULL */
	/*
	 * Called when names of the file @path are wanted and it cannot be read, or is another than was mapped;
	 * from any thread, and perhaps several times for one file. May be NULL.
	 */
	void (*unreadable)(const char *path, const char *why);
	/*
	 * Called, as @unreadable, when what reads a file has given up only some of its rights, @confined
	 * (MF_CONFINED_*), because the kernel refused the rest. May be NULL.
	 */
	void (*loose)(unsigned int confined);
	unsigned int patience_ms; /* with one file; 0: MF_PARSER_PATIENCE_S */
	bool unconfined; /* read the files in this process: for fuzzers, and to compare */
};

struct mf_symbolizer;

/* @objects must outlive the symbolizer. Returns 0 or -errno. */
int mf_symbolizer_create(const struct mf_object *objects, size_t n_objects,
			 const struct mf_symbolizer_options *options,
			 struct mf_symbolizer **symbolizer, struct mf_error *err);
void mf_symbolizer_destroy(struct mf_symbolizer *symbolizer);

/*
 * The positions of @frame, at least one (with all members NULL or 0 when nothing is known). The
 * result belongs to the symbolizer and stays valid until it is destroyed. Never fails: what cannot
 * be read is unknown.
 */
size_t mf_symbolizer_resolve(struct mf_symbolizer *symbolizer, struct mf_frame frame,
			     const struct mf_location **locations);

/*
 * Looks up all that was asked for with mf_symbolizer_want(), of several files at a time. What was not
 * asked for, or could not be had for lack of memory, is looked up when it is needed.
 */
void mf_symbolizer_want(struct mf_symbolizer *symbolizer, struct mf_frame frame);
void mf_symbolizer_prepare(struct mf_symbolizer *symbolizer);

/* The function at @frame will be asked for soon: cheaper than to be asked for it without notice. */
void mf_symbolizer_expect(struct mf_symbolizer *symbolizer, struct mf_frame frame);

/*
 * Only the function at @frame, without inlined calls: what the last position of
 * mf_symbolizer_resolve() has. Much cheaper, since it needs no DWARF. NULL: unknown.
 */
const char *mf_symbolizer_function(struct mf_symbolizer *symbolizer, struct mf_frame frame);

#endif
