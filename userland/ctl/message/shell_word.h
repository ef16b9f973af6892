/* SPDX-License-Identifier: GPL-2.0 */
/* Quotes words of commands that a message proposes. */
#ifndef MASSIF_CTL_SHELL_WORD_H
#define MASSIF_CTL_SHELL_WORD_H

/*
 * Returns the file name @path as a word that can be pasted into a shell: quoted if it contains blanks, control characters or
 * anything else that a shell would interpret, and with ./ before it if a command would take it for an option. A word with
 * control characters has the form $'...', which bash, zsh and ksh understand. The caller frees it; NULL if there is no memory.
 */
char *mf_shell_word(const char *path);

#endif
