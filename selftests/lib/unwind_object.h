/* SPDX-License-Identifier: GPL-2.0 */
/* Creates an object in memory with one function and its unwind tables. */
#ifndef MASSIF_SELFTESTS_UNWIND_OBJECT_H
#define MASSIF_SELFTESTS_UNWIND_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Offsets and maximum sizes of the parts of struct unwind_object. */
#define UNWIND_OBJECT_CODE	  2048u
#define UNWIND_OBJECT_CODE_SIZE 100u
#define UNWIND_OBJECT_CIE	  64u
#define UNWIND_OBJECT_PROGRAM	  64u

/* An object with one function. */
struct unwind_object {
	_Alignas(16) uint8_t bytes[4096];
	size_t n;
};

/*
 * Creates the tables: the rules CFA = rsp + 8 and return address at CFA - 8, followed by the instructions in @program.
 * If @signal is set, the function is marked as a signal frame.
 */
void unwind_object_make(struct unwind_object *object, bool signal, const uint8_t *program, size_t size);

#endif
