/* SPDX-License-Identifier: GPL-2.0 */
/* Which kind of program an ELF file is, judged by its headers alone. */
#ifndef MASSIF_CTL_ELF_KIND_H
#define MASSIF_CTL_ELF_KIND_H

#include "ctl/launch/program.h"

/*
 * Compares @path with the running massif-ctl: same machine, same loader? MF_PROGRAM_UNKNOWN for
 * anything that is no executable ELF file or cannot be read; never MF_PROGRAM_PRIVILEGED.
 */
enum mf_program_kind mf_elf_kind(const char *path);

#endif
