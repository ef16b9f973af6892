/* SPDX-License-Identifier: GPL-2.0 */
/* An object in memory with one function, and unwind tables of it that are written here. */
#ifndef SELFTESTS_LIB_UNWIND_OBJECT_H
#define SELFTESTS_LIB_UNWIND_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where things are in it, and how large they are at most. */
#define UNWIND_OBJECT_CODE	  2048u
#define UNWIND_OBJECT_CODE_SIZE 100u
#define UNWIND_OBJECT_CIE	  64u
#define UNWIND_OBJECT_PROGRAM	  64u

/* An object with one function. */
struct unwind_object {
	_Alignas(16) uint8_t bytes[4096];
	size_t n;
};

/* CFA = rsp + 8 and the return address at CFA - 8, then @program. @signal: the function says it was interrupted. */
void unwind_object_make(struct unwind_object *object, bool signal, const uint8_t *program, size_t size);

#endif
