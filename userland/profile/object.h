/* SPDX-License-Identifier: GPL-2.0 */
/* What was mapped where: the object that an address of a stack belonged to when it was taken. */
#ifndef MASSIF_SYMBOLS_OBJECT_H
#define MASSIF_SYMBOLS_OBJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum mf_object_kind {
	MF_OBJECT_UNKNOWN, /* code that belongs to no file: JIT, already unmapped, ... */
	MF_OBJECT_FILE,	   /* an ELF file, @path */
	MF_OBJECT_VDSO,	   /* the kernel's vdso; @path is "[vdso]" */
	MF_OBJECT_NOTE,	   /* no code at all: @path is words for the report, e.g. "[heap]" */
};

#define MF_BUILD_ID_MAX 20

struct mf_held_file; /* held.h */

/* Object 0 of every table is the unknown one. Strings belong to the table's owner. */
struct mf_object {
	enum mf_object_kind kind;
	uint64_t start, end;	/* addresses of the mapping, end exclusive */
	uint64_t bias;		/* run-time address - link-time (ELF) virtual address */
	const char *path;
	uint8_t build_id[MF_BUILD_ID_MAX];
	uint8_t build_id_size;	/* 0: unknown */
	bool unloaded;		/* before the program ended */
	/* Of the file at @path when the object was loaded, as stat(2) has them; inode 0: unknown. */
	uint64_t device, inode;
	int64_t modified_ns;
	const struct mf_held_file *held; /* what is held open of it; NULL: nothing. The table's owner's */
};

/* Are both the same file, as far as that is known? */
static inline bool mf_object_same_identity(const struct mf_object *a, const struct mf_object *b)
{
	return a->held == b->held && a->device == b->device && a->inode == b->inode &&
	       a->modified_ns == b->modified_ns;
}

/* Are both mappings of one file? */
static inline bool mf_object_same_file(const struct mf_object *a, const struct mf_object *b)
{
	return a->kind == b->kind && a->path && b->path && strcmp(a->path, b->path) == 0 &&
	       a->build_id_size == b->build_id_size &&
	       memcmp(a->build_id, b->build_id, a->build_id_size) == 0 &&
	       (a->build_id_size || mf_object_same_identity(a, b));
}

/*
 * One frame of a stack. @pc is as Massif prints it: the return address minus one, or the exact
 * address for a frame that is not a return (page events' innermost frame). For a note, 0.
 */
struct mf_frame {
	uint64_t pc;
	uint32_t object; /* index into the profile's table of objects */
};

#endif
