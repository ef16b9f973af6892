/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Valgrind's client requests: a program compiled with valgrind.h uses them to report blocks in memory that it manages
 * itself, and to issue monitor commands.
 *
 * A request is a sequence of instructions that has no effect outside Valgrind. The shim overwrites each request with a
 * jump.
 */
#ifndef MASSIF_PRELOAD_REQUESTS_H
#define MASSIF_PRELOAD_REQUESTS_H

#include <link.h>

/* Call this before the first call to mf_requests_arrived(). */
void mf_requests_start(void);

/* Redirects the requests in an object that has just been mapped. Context: see patch.h. */
void mf_requests_arrived(const struct dl_phdr_info *info);

#endif
