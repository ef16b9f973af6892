/* SPDX-License-Identifier: GPL-2.0 */
/* Finds the program to profile and determines whether the preload shim can be loaded into it. */
#ifndef MASSIF_CTL_PROGRAM_H
#define MASSIF_CTL_PROGRAM_H

#include <stdbool.h>

#include "base/error.h"
#include "elf/kind.h"

struct mf_program {
	char *path;	 /* path for execve(); owned */
	bool by_shell;	 /* a script without #!, to be run as /bin/sh @path */
	enum mf_program_kind kind;
	char *image;	 /* the ELF file that @kind describes if it is not @path itself; owned */
};

/*
 * Finds @name as a shell would. @directories is the value of PATH and may be NULL. Returns 0. If @name cannot be
 * executed, returns -ENOENT or another -errno, with a message in @err.
 */
int mf_program_resolve(struct mf_program *program, const char *name, const char *directories,
		       struct mf_error *err);
void mf_program_deinit(struct mf_program *program);

#endif
