/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a client request of the program leads to: code near it, which keeps all registers of the
 * program, looks whether the request is one of ours, and if so calls the function that answers it.
 */
#ifndef MASSIF_PRELOAD_TRAMPOLINE_H
#define MASSIF_PRELOAD_TRAMPOLINE_H

#include <stddef.h>
#include <stdint.h>

#include "cfi/request_site.h"

/* What the program asks for: valgrind.h's VG_USERREQ__. trampoline.c knows them, too. */
enum mf_request {
	MF_REQUEST_MONITOR_COMMAND = 0x1202,
	MF_REQUEST_MALLOCLIKE_BLOCK = 0x1301,
	MF_REQUEST_FREELIKE_BLOCK = 0x1302,
	MF_REQUEST_RESIZEINPLACE_BLOCK = 0x130b,
};

/* One for each site. In memory of mf_patch_room(), so not to be written after the seal. */
struct mf_trampoline {
	uint8_t code[24];
	uint64_t entry;	/* of all trampolines */
	uint64_t back;	/* the instruction behind the site, which is where the request is made */
	struct mf_trampoline *next; /* in its object */
};

/* What of the program's registers takes part. */
struct mf_trampoline_frame {
	uint64_t pc, sp, fp;
	const uint64_t *args; /* the request, and up to five arguments */
};

/* The answer. Only of our own requests; @unheard is what they give where nobody hears them. */
typedef uint64_t mf_trampoline_answer(const struct mf_trampoline_frame *frame, uint64_t unheard);

/* Before the first trampoline is made. */
void mf_trampoline_start(mf_trampoline_answer *answer);

/* Makes that of @site. */
void mf_trampoline_make(struct mf_trampoline *trampoline, const uint8_t *site);

static inline uint8_t *mf_trampoline_site(const struct mf_trampoline *trampoline)
{
	return (uint8_t *)(uintptr_t)trampoline->back - MF_REQUEST_SITE_BYTES;
}

#endif
