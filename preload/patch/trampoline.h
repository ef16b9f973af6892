/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trampolines: code near a client request in the program, to which the request is redirected. A trampoline preserves
 * all registers, tests whether the shim handles the request, and if so calls the request handler.
 */
#ifndef MASSIF_PRELOAD_TRAMPOLINE_H
#define MASSIF_PRELOAD_TRAMPOLINE_H

#include <stddef.h>
#include <stdint.h>

#include "cfi/request_site.h"

/* Valgrind's request numbers (VG_USERREQ__ in valgrind.h). The assembly in trampoline.c repeats them. */
enum mf_request {
	MF_REQUEST_MONITOR_COMMAND = 0x1202,
	MF_REQUEST_MALLOCLIKE_BLOCK = 0x1301,
	MF_REQUEST_FREELIKE_BLOCK = 0x1302,
	MF_REQUEST_RESIZEINPLACE_BLOCK = 0x130b,
};

/*
 * The trampoline of one client request in the program. It is allocated with mf_patch_room(), so it must not be written
 * after mf_patch_seal().
 */
struct mf_trampoline {
	uint8_t code[24];
	uint64_t entry;	/* the code shared by all trampolines */
	uint64_t back;	/* address of the instruction after the request; also the address of the event's caller */
	struct mf_trampoline *next; /* next trampoline for a client request in the same piece of code */
};

/* The program's registers that are relevant to a request. */
struct mf_trampoline_frame {
	uint64_t pc, sp, fp;
	const uint64_t *args; /* the request's number and up to five arguments */
};

/*
 * Handles a client request, whose number is one of the MF_REQUEST_ constants, and returns its result. @unheard: the
 * default result, to be returned if the request is not handled.
 */
typedef uint64_t mf_trampoline_answer(const struct mf_trampoline_frame *frame, uint64_t unheard);

/* Sets the function that handles client requests. Call this before the first trampoline is made. */
void mf_trampoline_start(mf_trampoline_answer *answer);

/* Makes the trampoline of the client request at @site. */
void mf_trampoline_make(struct mf_trampoline *trampoline, const uint8_t *site);

static inline uint8_t *mf_trampoline_site(const struct mf_trampoline *trampoline)
{
	return (uint8_t *)(uintptr_t)trampoline->back - MF_REQUEST_SITE_BYTES;
}

#endif
