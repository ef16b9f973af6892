/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that only return the address of a constant text. The text is read from the ELF file that has the function; the
 * function is not called.
 */
#ifndef MASSIF_ELF_TEXT_FUNCTION_H
#define MASSIF_ELF_TEXT_FUNCTION_H

#include "elf/file.h"

/* Maximum length of a text in bytes, without its terminating NUL. */
#define MF_TEXT_FUNCTION_MAX 65536u

/* The numbers are in recordings: none of them ever gets another meaning. */
enum mf_text_function {
	MF_TEXT_FUNCTION_NONE,	   /* there is no such function, or it returns NULL */
	MF_TEXT_FUNCTION_COMPUTES, /* the function does something else than to return the address of a constant text */
	MF_TEXT_FUNCTION_LONG,	   /* the text is longer than MF_TEXT_FUNCTION_MAX */
	MF_TEXT_FUNCTION_UNREAD,   /* the files of the program could not be read */
	MF_TEXT_FUNCTION_FOUND,
};

/*
 * Looks for the function @name, which other objects could call, in the symbol tables of @binary. If the result is
 * MF_TEXT_FUNCTION_FOUND, *@text is its text, valid until @binary is closed.
 */
enum mf_text_function mf_text_function_read(struct mf_elf_file *binary, const char *name, const char **text);

#endif
