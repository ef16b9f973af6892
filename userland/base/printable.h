/* SPDX-License-Identifier: GPL-2.0 */
/* Makes texts from files and programs safe to print to a terminal. */
#ifndef MASSIF_BASE_PRINTABLE_H
#define MASSIF_BASE_PRINTABLE_H

/*
 * Replaces each control character in @text by a question mark, in place. U+0080 to U+009F are control characters, too;
 * UTF-8 encodes them in two bytes, so @text can become shorter.
 */
void mf_printable_clean(char *text);

#endif
