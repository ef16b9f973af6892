/* SPDX-License-Identifier: GPL-2.0 */
/* Protects against mapped files that are truncated. */
#ifndef MASSIF_SYMBOLS_TRUNCATION_H
#define MASSIF_SYMBOLS_TRUNCATION_H

/*
 * From now on, missing pages of a mapped file read as zeroes instead of killing this process. This installs a handler
 * for SIGBUS; a SIGBUS of another cause still has its default effect.
 */
void mf_truncation_endure(void);

#endif
