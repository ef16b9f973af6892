/* SPDX-License-Identifier: GPL-2.0 */
/* Where in a program's code a client request stands: the instructions that Valgrind's valgrind.h makes. */
#ifndef MASSIF_UNWIND_REQUEST_SITE_H
#define MASSIF_UNWIND_REQUEST_SITE_H

#include <stddef.h>
#include <stdint.h>

/* 0: we know of none on this machine. */
#if defined(__x86_64__)
#define MF_REQUEST_SITE_BYTES 19u
#else
#define MF_REQUEST_SITE_BYTES 0u
#endif

/* The first one in @n bytes of @code, or NULL. */
const uint8_t *mf_request_site_find(const uint8_t *code, size_t n);

#endif
