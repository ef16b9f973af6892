/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A row file: unwind rows of one object, stored so that the next program that uses this object need not recompute them.
 *
 * If the object's code was searched for client requests (preload/patch/requests.h) and none was found, the file also
 * records the size of the searched code.
 *
 * A file is named after the object's build id: an object with this id has these rows, whatever its path and
 * modification time. The file contains only rows that some program has looked up, sorted by their 32-bit link-time
 * addresses. Before any of it is used, its layout, build id, checksum and every row are verified; a file that fails
 * verification is treated as missing. It is read, not mapped, so that it cannot change or be truncated while in use.
 */
#ifndef MASSIF_CFI_ROWFILE_H
#define MASSIF_CFI_ROWFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/object.h"
#include "rows.h"

#define MF_ROWFILE_ROWS_MAX   (1u << 15)
#define MF_ROWFILE_NAME_SIZE  (2 * MF_BUILD_ID_MAX + sizeof(".rows"))
#define MF_ROWFILE_ID_LEAST   8u /* minimum size of a build id in bytes; a shorter one does not identify a file */

struct mf_rowfile_row {
	uint32_t start, end; /* link-time addresses of the code, @end exclusive */
	struct mf_cfi_rule rule;
};

struct mf_rowfile {
	uint64_t magic;
	uint32_t version;
	uint32_t n_rows;
	uint64_t sum; /* checksum of the whole file except this field */
	/*
	 * size of the object's code in bytes, if all of it was searched for client requests and none was found;
	 * otherwise 0
	 */
	uint64_t searched_bytes;
	uint8_t build_id[MF_BUILD_ID_MAX];
	uint8_t build_id_size;
	uint8_t reserved[3];
	struct mf_rowfile_row rows[];
};

static inline size_t mf_rowfile_size(uint32_t n_rows)
{
	return sizeof(struct mf_rowfile) + n_rows * sizeof(struct mf_rowfile_row);
}

/* Initialises an empty file for the object with this build id, whose size must be valid. */
void mf_rowfile_init(struct mf_rowfile *file, const uint8_t *build_id, uint8_t size);

/*
 * Returns whether a row file may contain @rule. It must be valid and depend only on the object's unwind tables, so that
 * it is the same in every process. Returns false for MF_CFA_UNKNOWN, which is not a complete rule, and for MF_CFA_NONE
 * and MF_CFA_BORDER, which say that the code has no unwind rules.
 */
bool mf_rowfile_holds(const struct mf_cfi_rule *rule);

/* Computes the checksum of @file; call it after writing the rows. */
void mf_rowfile_seal(struct mf_rowfile *file);

/* Returns whether the @size bytes at @file are a valid row file of the object with this build id. */
bool mf_rowfile_is_right(const struct mf_rowfile *file, size_t size, const uint8_t *build_id,
			 uint8_t build_id_size);

/* Returns the rule at the link-time @address; NULL if the file does not contain it. */
const struct mf_cfi_rule *mf_rowfile_find(const struct mf_rowfile *file, uint64_t address);

/* Writes the file's name, without a directory, to @name. */
void mf_rowfile_name(char name[MF_ROWFILE_NAME_SIZE], const uint8_t *build_id, uint8_t size);

/*
 * Reads the file @name in the directory @dirfd into a new mapping of *@size bytes, which the caller unmaps. Returns
 * NULL if the file does not exist, is invalid, does not belong to the user, or is writable by others. Calls no function
 * that the program could have replaced. Changes errno.
 */
struct mf_rowfile *mf_rowfile_read(int dirfd, const char *name, const uint8_t *build_id,
				   uint8_t build_id_size, size_t *size);

#endif
