/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Client requests: what a program that was compiled with Valgrind's valgrind.h tells of the blocks that
 * it makes out of memory of its own, and asks for.
 *
 * A request is a sequence of instructions that does nothing. Where it stands in the program's code, a
 * jump is written over it.
 */
#ifndef MASSIF_PRELOAD_REQUESTS_H
#define MASSIF_PRELOAD_REQUESTS_H

#include <link.h>

/* Before the first object. */
void mf_requests_start(void);

/* Redirects the requests in an object that has just been mapped. For a moment as in patch.h. */
void mf_requests_arrived(const struct dl_phdr_info *info);

#endif
