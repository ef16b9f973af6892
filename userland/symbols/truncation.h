/* SPDX-License-Identifier: GPL-2.0 */
/* Protects against mapped files that are truncated. */
#ifndef MASSIF_SYMBOLS_TRUNCATION_H
#define MASSIF_SYMBOLS_TRUNCATION_H

/*
 * Makes missing pages of a mapped file read as zeroes instead of killing this process. Installs a SIGBUS handler; a
 * SIGBUS with another cause still has its default effect.
 */
void mf_truncation_endure(void);

#endif
