/* SPDX-License-Identifier: GPL-2.0 */
/* The libraries in LD_PRELOAD, which the user means for the program. */
#ifndef MASSIF_CTL_FOREIGN_LIBRARIES_H
#define MASSIF_CTL_FOREIGN_LIBRARIES_H

/*
 * Executes massif-ctl again if it has been started with libraries in LD_PRELOAD, so that it runs without them. Afterwards, the
 * environment is as massif-ctl was given it, for the program. Without /proc, massif-ctl goes on with the libraries. Call this
 * first of all.
 */
void mf_foreign_libraries_leave(char **argv);

#endif
