/* SPDX-License-Identifier: GPL-2.0 */
/* Leads a function's calls to another one, and keeps a way to what it does. */
#ifndef MASSIF_PRELOAD_DETOUR_H
#define MASSIF_PRELOAD_DETOUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mf_code_detour {
	uint8_t *site; /* the function's first instruction */
	const void *via;
	void *original; /* called instead of @site, it does what that did */
	uint64_t code;	/* what stood at the site, all of it; a hash */
};

/*
 * Makes ready that calls of the function at @site, of @size bytes, go to @target. All registers are as they
 * were at the call, but rbp and @datum have been pushed: from the stack pointer up there are @datum, rbp and
 * the return address. The function's first instructions are copied elsewhere, with what in them depends on
 * where they are; all others are read, so that none is found later that leads into the middle of the
 * jump. Returns 0; -ENOEXEC if that cannot be made out or done; or as patch.h. The rest is patch.h's: seal,
 * and only then mf_code_detour_place().
 */
int mf_code_detour_prepare(struct mf_code_detour *detour, void *site, size_t size, const void *target,
		      const void *datum);

/*
 * The same for a function that is never to run again: there is no original. Without @datum nothing is
 * pushed.
 */
int mf_code_detour_replace(struct mf_code_detour *detour, void *site, const void *target, const void *datum);

/*
 * An object is often loaded again to where it was. Does the jump stand at the site? Or else, is the
 * function what it was when @detour was made, so that it can be placed again?
 */
bool mf_code_detour_is_placed(const struct mf_code_detour *detour);
bool mf_code_detour_fits(const struct mf_code_detour *detour, size_t size);

/* While nobody is in the function's first bytes. */
int mf_code_detour_place(const struct mf_code_detour *detour);

#endif
