/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rows of one object in a file, so that the next program that has it need not find them again.
 *
 * And whether its code has been looked through for client requests (preload/patch/requests.h), in vain: then it
 * says how much code that is.
 *
 * A file is named by the object's build id: whatever its path and its time are, an object with this
 * id has these rows. It holds those that were ever asked for, sorted, at link-time addresses of 32
 * bits. A file is right or it is as if it were not there: its form, its build id, each row and the sum
 * over all of it are looked at before any of it is used, and it is read, not mapped, so that it cannot
 * change, or end, under whoever uses it.
 */
#ifndef MASSIF_UNWIND_ROWFILE_H
#define MASSIF_UNWIND_ROWFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/object.h"
#include "rows.h"

#define MF_ROWFILE_ROWS_MAX   (1u << 15)
#define MF_ROWFILE_NAME_SIZE  (2 * MF_BUILD_ID_MAX + sizeof(".rows"))
#define MF_ROWFILE_ID_LEAST   8u /* bytes of a build id; a shorter one is a name, not an identity */

struct mf_rowfile_row {
	uint32_t start, end; /* end exclusive */
	struct mf_cfi_rule rule;
};

struct mf_rowfile {
	uint64_t magic;
	uint32_t version;
	uint32_t n_rows;
	uint64_t sum; /* over everything else */
	uint64_t searched_bytes; /* of segments with code, all of them, and no request in them; 0: not known */
	uint8_t build_id[MF_BUILD_ID_MAX];
	uint8_t build_id_size;
	uint8_t reserved[3];
	struct mf_rowfile_row rows[];
};

static inline size_t mf_rowfile_size(uint32_t n_rows)
{
	return sizeof(struct mf_rowfile) + n_rows * sizeof(struct mf_rowfile_row);
}

/* An empty one for the object with that build id, which is of a right size. */
void mf_rowfile_init(struct mf_rowfile *file, const uint8_t *build_id, uint8_t size);

/* Is @rule one that a file may have: known, and the same for all times? */
bool mf_rowfile_holds(const struct mf_cfi_rule *rule);

/* Its rows are there: makes the rest of @file true. */
void mf_rowfile_seal(struct mf_rowfile *file);

/* Are the @size bytes at @file that of the object with that build id? */
bool mf_rowfile_is_right(const struct mf_rowfile *file, size_t size, const uint8_t *build_id,
			 uint8_t build_id_size);

/* The rule at link-time address @address; NULL if the file does not say. */
const struct mf_cfi_rule *mf_rowfile_find(const struct mf_rowfile *file, uint64_t address);

/* The name of the file in its directory. */
void mf_rowfile_name(char name[MF_ROWFILE_NAME_SIZE], const uint8_t *build_id, uint8_t size);

/*
 * Reads the file called @name in the directory @dirfd, to memory of its own, of *@size bytes, which is
 * the caller's to unmap. NULL if there is none, or it is not right, or not the user's own, or others
 * may write to it. Calls nothing that the program could have replaced, and changes errno.
 */
struct mf_rowfile *mf_rowfile_read(int dirfd, const char *name, const uint8_t *build_id,
				   uint8_t build_id_size, size_t *size);

#endif
