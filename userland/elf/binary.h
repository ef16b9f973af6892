/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An ELF file that a profiled process has mapped. It is read in child processes without rights (base/errand.h). The first
 * child makes the summary. If bytes of the file are needed as well, which is rare, further children fetch them, more
 * each time. If no child can be started, a process that has no rights itself reads the file; one with rights does not.
 */
#ifndef MASSIF_ELF_BINARY_H
#define MASSIF_ELF_BINARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/held.h"
#include "elf/summary.h"

#define MF_BINARY_PATIENCE_MS 10000 /* with each child */

struct mf_binary;

struct mf_binary_options {
	unsigned int patience_ms; /* 0: MF_BINARY_PATIENCE_MS */
	bool unconfined;	  /* read in this process; for tests */
};

/*
 * Reads the summary of @held, which must outlive the result. Returns NULL if it is no ELF file of this machine or cannot
 * be opened, if memory ran out, or if reading it failed. In the last case *@why is the reason, a constant; else NULL.
 */
struct mf_binary *mf_binary_open(const struct mf_held_file *held, const struct mf_binary_options *options,
				 const char **why);

/* The vdso of this process: every process of this kernel has the same. NULL if there is none. */
struct mf_binary *mf_binary_open_vdso(void);

void mf_binary_close(struct mf_binary *binary); /* NULL is allowed */

const struct mf_elf_summary *mf_binary_summary(const struct mf_binary *binary);

/* The rules of its code, which are the binary's. */
const struct mf_cfi *mf_binary_cfi(const struct mf_binary *binary);

/* Returns whether the file has @size bytes at @offset. */
bool mf_binary_has(const struct mf_binary *binary, uint64_t offset, size_t size);

/* Copies @size bytes at @offset of the file. Returns false if they are not all there. */
bool mf_binary_read(struct mf_binary *binary, uint64_t offset, void *bytes, size_t size);

#endif
