/* SPDX-License-Identifier: GPL-2.0 */
/* Redirects all calls to a function to another one, and keeps a callable copy of the original. */
#ifndef MASSIF_PRELOAD_CODE_DETOUR_H
#define MASSIF_PRELOAD_CODE_DETOUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mf_code_detour {
	uint8_t *site; /* the function's first instruction */
	const void *via;
	void *original; /* call this instead of @site to get the function's original behaviour */
	uint64_t code;	/* hash of the function's code before the jump was written */
};

/*
 * Prepares to redirect to @target all calls to the function at @site, which is @size bytes long. On entry to @target,
 * all registers except rsp are as the caller left them; the stack holds, from rsp upwards, @datum, rbp and the return
 * address. The function's first instructions are copied elsewhere and adapted to their new address. The other
 * instructions are decoded to make sure that none of them jumps into the overwritten code. Returns 0, -ENOEXEC if the
 * function cannot be decoded or moved, or an error from a function in patch.h. On success, the caller must then call
 * mf_patch_seal() and mf_code_detour_place().
 */
int mf_code_detour_prepare(struct mf_code_detour *detour, void *site, size_t size, const void *target,
		      const void *datum);

/*
 * Like mf_code_detour_prepare(), but makes no callable copy of the original function, which can then no longer be
 * called. If @datum is NULL, neither rbp nor @datum is pushed.
 */
int mf_code_detour_replace(struct mf_code_detour *detour, void *site, const void *target, const void *datum);

/*
 * For an object that has been loaded again at its old address. mf_code_detour_is_placed() returns whether the jump is
 * already in place. mf_code_detour_fits() returns whether the function is still the same as when @detour was made, so
 * that the jump can be placed again.
 */
bool mf_code_detour_is_placed(const struct mf_code_detour *detour);
bool mf_code_detour_fits(const struct mf_code_detour *detour, size_t size);

/* Writes the jump. Context: no thread is executing the function's first bytes. Return: 0 or an error of patch.h. */
int mf_code_detour_place(const struct mf_code_detour *detour);

#endif
