/* SPDX-License-Identifier: GPL-2.0 */
/* Classifies a program by its ELF headers. */
#ifndef MASSIF_ELF_KIND_H
#define MASSIF_ELF_KIND_H

/* The kind of the ELF file that the kernel eventually executes, once any scripts are resolved to their interpreters. */
enum mf_program_kind {
	MF_PROGRAM_DYNAMIC,    /* dynamically linked: the loader will load the shim */
	MF_PROGRAM_STATIC,     /* statically linked: no loader, so no shim */
	MF_PROGRAM_PRIVILEGED, /* gains privileges on exec, so the loader ignores the shim */
	MF_PROGRAM_MACHINE,    /* a program for another architecture */
	MF_PROGRAM_LOADER,     /* needs the loader of a C library other than massif-ctl's */
	MF_PROGRAM_UNKNOWN,    /* unreadable, or not an ELF file; the kernel decides what to do with it */
};

/*
 * Determines whether @path is for the same machine and the same loader as the running massif-ctl. Returns
 * MF_PROGRAM_UNKNOWN if it is not a readable, executable ELF file. Never returns MF_PROGRAM_PRIVILEGED.
 */
enum mf_program_kind mf_elf_kind(const char *path);

#endif
