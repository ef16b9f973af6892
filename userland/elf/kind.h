/* SPDX-License-Identifier: GPL-2.0 */
/* Classifies a program by its ELF headers. */
#ifndef MASSIF_ELF_KIND_H
#define MASSIF_ELF_KIND_H

#include "ctl/launch/program.h"

/*
 * Determines whether @path is for the same machine and the same loader as the running massif-ctl. Returns
 * MF_PROGRAM_UNKNOWN if it is not a readable, executable ELF file. Never returns MF_PROGRAM_PRIVILEGED.
 */
enum mf_program_kind mf_elf_kind(const char *path);

#endif
