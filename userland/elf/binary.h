/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An ELF file that a profiled process has mapped. It is read in unprivileged child processes (base/errand.h). The first
 * child builds the summary. In the rare case that bytes of the file are needed as well, further children fetch them in
 * increasingly large pieces. If no child can be started, this process reads the file itself, unless it has privileges.
 */
#ifndef MASSIF_ELF_BINARY_H
#define MASSIF_ELF_BINARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/held.h"
#include "elf/summary.h"

#define MF_BINARY_PATIENCE_MS 10000 /* default time limit in ms for each child process that reads the file */

struct mf_binary;

struct mf_binary_options {
	unsigned int patience_ms; /* time limit for each child in ms; 0: the default, MF_BINARY_PATIENCE_MS */
	bool unconfined;	  /* read the file in this process instead of in a child; for tests */
};

/*
 * Builds the summary (elf/summary.h) of the ELF file @held, which must outlive the result. Returns NULL if the file is
 * not an ELF file for this machine, if it cannot be opened or read, or if out of memory. If reading failed, *@why is
 * set to the reason, a constant string; otherwise to NULL.
 */
struct mf_binary *mf_binary_open(const struct mf_held_file *held, const struct mf_binary_options *options,
				 const char **why);

/* Opens the vdso of this process, which is the same in all processes of this kernel. Returns NULL if there is none. */
struct mf_binary *mf_binary_open_vdso(void);

void mf_binary_close(struct mf_binary *binary); /* @binary may be NULL */

const struct mf_elf_summary *mf_binary_summary(const struct mf_binary *binary);

/* Returns the file's unwind rules, which stay valid until @binary is closed. */
const struct mf_cfi *mf_binary_cfi(const struct mf_binary *binary);

/* Returns whether the file contains @size bytes at @offset. */
bool mf_binary_has(const struct mf_binary *binary, uint64_t offset, size_t size);

/* Copies @size bytes from @offset of the file. Returns false if the file does not contain all of them. */
bool mf_binary_read(struct mf_binary *binary, uint64_t offset, void *bytes, size_t size);

#endif
