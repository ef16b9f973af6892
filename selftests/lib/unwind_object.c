// SPDX-License-Identifier: GPL-2.0
// Creates an object in memory with one function and its unwind tables.

#include "selftests/lib/unwind_object.h"

#include <string.h>

static void put(struct unwind_object *object, const void *bytes, size_t n)
{
	memcpy(object->bytes + object->n, bytes, n);
	object->n += n;
}

static void put_word(struct unwind_object *object, int64_t word)
{
	put(object, &(int32_t){ (int32_t)word }, sizeof(int32_t));
}

/* Begins an entry of the unwind tables. Its length is filled in when the entry ends. */
static size_t begin(struct unwind_object *object)
{
	put_word(object, 0);
	return object->n;
}

static void end(struct unwind_object *object, size_t start)
{
	memcpy(object->bytes + start - 4, &(uint32_t){ (uint32_t)(object->n - start) }, 4);
}

void unwind_object_make(struct unwind_object *object, bool signal, const uint8_t *program, size_t size)
{
	static const uint8_t head[] = { 1, 0x1b, 0x03, 0x3b };
	static const uint8_t start[] = { 0x01, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1 };
	size_t entry, fde;

	memset(object, 0, sizeof(*object));
	put(object, head, sizeof(head));
	put_word(object, UNWIND_OBJECT_CIE - 4);
	put_word(object, 1);
	put_word(object, UNWIND_OBJECT_CODE);
	fde = object->n;
	object->n = UNWIND_OBJECT_CIE;
	entry = begin(object);
	put_word(object, 0);
	put(object, "\1", 1);
	put(object, signal ? "zRS" : "zR", signal ? 4 : 3);
	put(object, start, sizeof(start));
	end(object, entry);
	memcpy(object->bytes + fde, &(int32_t){ (int32_t)object->n }, 4);
	entry = begin(object);
	put_word(object, (int64_t)object->n - UNWIND_OBJECT_CIE);
	put_word(object, (int64_t)UNWIND_OBJECT_CODE - (int64_t)object->n);
	put_word(object, UNWIND_OBJECT_CODE_SIZE);
	put(object, "\0", 1);
	put(object, program, size);
	end(object, entry);
}
