/* SPDX-License-Identifier: GPL-2.0 */
/* Files that somebody cuts short while we have them mapped. */
#ifndef MASSIF_SYMBOLS_TRUNCATION_H
#define MASSIF_SYMBOLS_TRUNCATION_H

/*
 * From now on, what is missing of a mapped file reads as zeros, as what is not there of anything else
 * in a broken file, instead of ending this process. It takes SIGBUS over; that of others still does what
 * it does.
 */
void mf_truncation_endure(void);

#endif
