/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An object: the file, or other code such as the vdso, that was mapped at a code address when a stack containing that
 * address was recorded.
 */
#ifndef MASSIF_PROFILE_OBJECT_H
#define MASSIF_PROFILE_OBJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum mf_object_kind {
	MF_OBJECT_UNKNOWN, /* code that belongs to no file: JIT-compiled, already unmapped, ... */
	MF_OBJECT_FILE,	   /* an ELF file, @path */
	MF_OBJECT_VDSO,	   /* the kernel's vdso; @path is "[vdso]" */
	MF_OBJECT_NOTE,	   /* not code: @path is a description for the report, e.g. "[heap]" */
};

#define MF_BUILD_ID_MAX 20

struct mf_held_file; /* a file that massif-ctl keeps open; see base/held.h */

/* One mapped object. Object 0 of every table is the unknown object. The strings belong to the table's owner. */
struct mf_object {
	enum mf_object_kind kind;
	uint64_t start, end;	/* addresses of the mapping, end exclusive */
	uint64_t bias;		/* run-time address minus link-time (ELF) address */
	const char *path;
	uint8_t build_id[MF_BUILD_ID_MAX];
	uint8_t build_id_size;	/* number of bytes in @build_id; 0 if the build id is unknown */
	bool unloaded;		/* the object was unmapped before the program ended */
	/* Identity of the file at @path when the object was loaded, as in stat(2); inode 0 if unknown. */
	uint64_t device, inode;
	int64_t modified_ns;
	/* the object's open file, or NULL; it belongs to the owner of the table that contains this object */
	const struct mf_held_file *held;
};

/* Returns whether two objects were mapped from the same file, judging by the file's identity (device, inode, time). */
static inline bool mf_object_same_identity(const struct mf_object *a, const struct mf_object *b)
{
	return a->held == b->held && a->device == b->device && a->inode == b->inode &&
	       a->modified_ns == b->modified_ns;
}

/* Returns whether two objects are mappings of the same file. */
static inline bool mf_object_same_file(const struct mf_object *a, const struct mf_object *b)
{
	return a->kind == b->kind && a->path && b->path && strcmp(a->path, b->path) == 0 &&
	       a->build_id_size == b->build_id_size &&
	       memcmp(a->build_id, b->build_id, a->build_id_size) == 0 &&
	       (a->build_id_size || mf_object_same_identity(a, b));
}

/*
 * One frame of a stack. @pc is what Massif prints: the return address minus one, or the exact address for a frame that
 * made no call (the innermost frame of page events). @pc is 0 for a frame that consists of text rather than code (its
 * object is of the kind MF_OBJECT_NOTE).
 */
struct mf_frame {
	uint64_t pc;
	uint32_t object; /* index into the profile's table of objects */
};

#endif
