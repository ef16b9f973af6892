/* SPDX-License-Identifier: GPL-2.0 */
/* The file of the running program, massif-ctl. */
#ifndef MASSIF_BASE_OWN_PATH_H
#define MASSIF_BASE_OWN_PATH_H

#include <limits.h>

/*
 * Writes the path of the program's file, also if the dynamic linker was executed and has loaded it. Needs /proc. Returns 0 or
 * -errno.
 */
int mf_own_path(char path[PATH_MAX]);

#endif
