/* SPDX-License-Identifier: GPL-2.0 */
/* Compares each stack with a fresh walk by libunwind: for tests of the shim, and for doubters. */
#ifndef MASSIF_PRELOAD_VERIFY_H
#define MASSIF_PRELOAD_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind.h"

/* What libunwind calls by these names must lead to ours: see the head of verify.c. */
struct mf_verify_function {
	const char *name;
	const void *ours;
};
#define MF_VERIFY_FUNCTIONS 4u
extern const struct mf_verify_function mf_verify_functions[MF_VERIFY_FUNCTIONS];

/*
 * @handle: dlopen's of libunwind, in which the functions were redirected. False, with a note in the session
 * memory, if it is NULL or lacks a function.
 */
bool mf_verify_start(void *handle);

/* Counts the present stack from @caller on, and whether @context has other frames. */
void mf_verify_stack(const struct mf_registers *caller, uint32_t context);

#endif
