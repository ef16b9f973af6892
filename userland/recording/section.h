/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sections of a recording file, each with its type, its lengths and a checksum, compressed with zstd.
 *
 * massif.rec(5) describes the format. All numbers of the file's head and of the sections' heads are little-endian.
 */
#ifndef MASSIF_RECORDING_SECTION_H
#define MASSIF_RECORDING_SECTION_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/bytes.h"

#define MF_SECTION_MAGIC   "massif.rec\r\n"
#define MF_SECTION_VERSION 1u

/* The largest section that is read, in bytes after decompression. */
#define MF_SECTION_MAX (1ull << 30)

/*
 * A few bytes can decompress to a gigabyte. So all sections of a file together may have at most so many bytes after
 * decompression for each byte of the file until there, and as many more. Sections that compress better are written with
 * padding.
 */
#define MF_SECTION_EXPANSION_MAX 128u
#define MF_SECTION_ALLOWANCE_MAX (1ull << 20)

/* A process begins with MF_SECTION_PROCESS and ends with MF_SECTION_END. Readers skip types that they do not know. */
enum mf_section_type {
	MF_SECTION_PROCESS = 1, /* facts about the process and the run */
	MF_SECTION_OBJECTS,	/* the table of mapped objects */
	MF_SECTION_STACKS,	/* frames, and the stacks made of them */
	MF_SECTION_NAMES,	/* functions, files and lines of the frames */
	MF_SECTION_SNAPSHOTS,	/* all kept snapshots, and their trees */
	MF_SECTION_END,		/* empty: the process is complete */
	MF_SECTION_COUNTS,	/* what each context has allocated; heap mode only */
	MF_SECTION_SIZES,	/* all allocated blocks by their size; heap mode only */
	MF_SECTION_THREADS,	/* the threads, and that of each context; only if they are kept apart */
	MF_SECTION_BLOCKS,	/* the numbers of live blocks in all trees; only with details */
	MF_SECTION_DETAILS,	/* sizes and lifetimes of each context's blocks; only with details */
	MF_SECTION_TOTALS,	/* what each thread has allocated; only if they are not kept apart */
	MF_SECTION_FUNCTIONS,	/* the allocation function that each context has called; heap mode only */
	MF_SECTION_RESIDENCY,	/* samples of the resident set; only with --rss */
	MF_SECTION_TOUCHES,	/* which code touched the pages of the samples first; only if massif.ko has recorded it */
	/* The profile of these touches, in sections of their own, each like the one that its number is above TOUCHED. */
	MF_SECTION_TOUCHED,
	MF_SECTION_TOUCHED_LAST = MF_SECTION_TOUCHED + MF_SECTION_SNAPSHOTS,
	MF_SECTION_AGES,	/* ages of each context's blocks (model/details.h); only with details */
	MF_SECTION_TYPES,
};

/* Adds the head that every file begins with to @file. */
void mf_section_add_magic(struct mf_bytes *file);

/* Compresses @contents and adds them to @file as a section. Returns 0, -ENOMEM, or -E2BIG above MF_SECTION_MAX. */
int mf_section_add(struct mf_bytes *file, enum mf_section_type type, const struct mf_bytes *contents);

/* A file that is being read. */
struct mf_section_reader {
	const uint8_t *begin;
	struct mf_cursor cursor;
	uint64_t room; /* bytes that sections may still have after decompression */
};

struct mf_section_reader mf_section_reader(const void *data, size_t size);

/*
 * Checks the head of a file. Returns 0; -EINVAL if it is another kind of file; -ENOTSUP if it was written by a later
 * version of massif.
 */
int mf_section_check_magic(struct mf_section_reader *file, struct mf_error *err);

/*
 * Reads the next section of a file. *@contents is what it holds, to be freed by the caller; NULL if the type is not
 * known. Returns 1; 0 at the end of the file; -ENODATA if the file ends within a section; -EBADMSG if the section is
 * damaged; -ENOMEM; -E2BIG if it is larger than MF_SECTION_MAX, or than the file has room for.
 */
int mf_section_read(struct mf_section_reader *file, uint32_t *type, uint8_t **contents, size_t *size,
		    struct mf_error *err);

#endif
