/* SPDX-License-Identifier: GPL-2.0 */
/* Finds client requests in a program's code: the instructions that Valgrind's valgrind.h generates. */
#ifndef MASSIF_CFI_REQUEST_SITE_H
#define MASSIF_CFI_REQUEST_SITE_H

#include <stddef.h>
#include <stdint.h>

/* Length of the instructions in bytes; 0 if none are known for this processor. */
#if defined(__x86_64__)
#define MF_REQUEST_SITE_BYTES 19u
#else
#define MF_REQUEST_SITE_BYTES 0u
#endif

/* Returns the first client request in the @n bytes of @code, or NULL. */
const uint8_t *mf_request_site_find(const uint8_t *code, size_t n);

#endif
