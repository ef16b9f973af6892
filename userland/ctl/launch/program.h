/* SPDX-License-Identifier: GPL-2.0 */
/* The program to profile: where it is, and whether the preload shim can get into it. */
#ifndef MASSIF_CTL_PROGRAM_H
#define MASSIF_CTL_PROGRAM_H

#include <stdbool.h>

#include "base/error.h"

/* What the kernel will run in the end, behind scripts. */
enum mf_program_kind {
	MF_PROGRAM_DYNAMIC,    /* our kind: the loader will load the shim */
	MF_PROGRAM_STATIC,     /* no loader, no shim */
	MF_PROGRAM_PRIVILEGED, /* gains rights at exec: the loader will refuse the shim */
	MF_PROGRAM_MACHINE,    /* for another architecture */
	MF_PROGRAM_LOADER,     /* another C library's loader */
	MF_PROGRAM_UNKNOWN,    /* not to be read, or no ELF file; the kernel will know */
};

struct mf_program {
	char *path;	 /* to be given to execve(); owned */
	bool by_shell;	 /* a script without #!: /bin/sh is to be given the path */
	enum mf_program_kind kind;
	char *image;	 /* the ELF file that @kind is about, if not @path itself; owned */
};

/*
 * Finds @name as a shell would, with @directories as its PATH, which may be NULL. Returns 0; or -ENOENT
 * or another -errno, with words in @err, if it cannot be executed.
 */
int mf_program_resolve(struct mf_program *program, const char *name, const char *directories,
		       struct mf_error *err);
void mf_program_deinit(struct mf_program *program);

#endif
