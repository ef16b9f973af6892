/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The file with debug information that several objects share, which dwz has split off. An object names it, with its build
 * id, in .gnu_debugaltlink. libdw opens it when it is needed, but does not check whether it is the right one.
 */
#ifndef MASSIF_SYMBOLS_SHARED_FILE_H
#define MASSIF_SYMBOLS_SHARED_FILE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/object.h"

struct mf_shared_file {
	uint8_t build_id[MF_BUILD_ID_MAX];
	size_t size; /* 0: the object shares none, or does not say which */
};

/* Finds out which file @elf shares with others. */
void mf_shared_file_find(struct mf_shared_file *file, Elf *elf);

/*
 * Returns whether the file @fd is @file. Context: also a signal handler with a small stack; not reentered, and not called
 * by two threads at a time.
 */
bool mf_shared_file_is(const struct mf_shared_file *file, int fd);

#endif
