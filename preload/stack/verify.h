/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Checks each stack with an independent walk by libunwind. For tests of the shim, and for users who doubt the stacks in
 * a profile.
 */
#ifndef MASSIF_PRELOAD_VERIFY_H
#define MASSIF_PRELOAD_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind.h"

/* Functions for which libunwind's calls must be redirected to replacements in verify.c; see the comment at its top. */
struct mf_verify_function {
	const char *name;
	const void *ours;
};
#define MF_VERIFY_FUNCTIONS 4u
extern const struct mf_verify_function mf_verify_functions[MF_VERIFY_FUNCTIONS];

/*
 * Looks up libunwind's functions. @handle: libunwind as opened by dlopen(); its calls to the functions in
 * mf_verify_functions have been redirected to the shim's replacements. If @handle is NULL or libunwind lacks one of the
 * functions, records in the session memory that stacks cannot be checked, and returns false.
 */
bool mf_verify_start(void *handle);

/*
 * Compares the current stack, starting at @caller, with the frames of @context, and counts the result in the session.
 */
void mf_verify_stack(const struct mf_registers *caller, uint32_t context);

#endif
