/* SPDX-License-Identifier: GPL-2.0 */
/* Processors that are taken off line and come back. */
#ifndef MASSIF_PROCESSOR_H
#define MASSIF_PROCESSOR_H

/* 0 or -errno. May sleep. */
int massif_processor_init(void);

/* When it returns, nothing of this runs or will. May sleep. */
void massif_processor_exit(void);

#endif
