/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Valgrind's client requests: with them a program compiled with valgrind.h reports blocks in memory that it manages
 * itself, and gives monitor commands.
 *
 * A request is a sequence of instructions that does nothing. The shim overwrites each one with a jump.
 */
#ifndef MASSIF_PRELOAD_REQUESTS_H
#define MASSIF_PRELOAD_REQUESTS_H

#include <link.h>

/* Called before the first mf_requests_arrived(). */
void mf_requests_start(void);

/* Redirects the requests in an object that has just been mapped. Context: as patch.h requires. */
void mf_requests_arrived(const struct dl_phdr_info *info);

#endif
