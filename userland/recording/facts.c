// SPDX-License-Identifier: GPL-2.0
// What a recording says about a process and its run: a list of keys and values.

#include "recording/facts.h"

#include <stddef.h>

enum kind {
	UNSIGNED,
	SIGNED,
	TEXT,
	KINDS,
};

#define FACT(number, type, member) [number] = { type, offsetof(struct mf_facts, member) }

/* The index is the key in the file: it never gets another meaning. */
static const struct fact {
	enum kind kind;
	size_t place;
} table[] = {
	FACT(0, UNSIGNED, pid),
	FACT(1, UNSIGNED, parent),
	FACT(2, TEXT, name),
	FACT(3, TEXT, cmd),
	FACT(4, TEXT, desc),
	FACT(5, UNSIGNED, time_unit),
	FACT(6, UNSIGNED, pages),
	FACT(7, UNSIGNED, what),
	FACT(8, UNSIGNED, cut_off),
	FACT(9, UNSIGNED, written_s),
	FACT(10, UNSIGNED, took_ms),
	FACT(11, SIGNED, end_time),
	FACT(12, UNSIGNED, end_heap),
	FACT(13, UNSIGNED, end_extra),
	FACT(14, UNSIGNED, end_stacks),
	FACT(15, UNSIGNED, allocations),
	FACT(16, UNSIGNED, frees),
	FACT(17, UNSIGNED, reallocations),
	FACT(18, UNSIGNED, lost),
	FACT(19, TEXT, version),
	FACT(20, TEXT, kernel),
	FACT(21, UNSIGNED, ended),
	FACT(22, TEXT, suppressions),
	FACT(23, UNSIGNED, unread_suppressions),
};

#define FACTS (sizeof(table) / sizeof(table[0]))

void mf_facts_add(struct mf_bytes *bytes, const struct mf_facts *facts)
{
	mf_bytes_add_unsigned(bytes, FACTS);
	for (size_t i = 0; i < FACTS; i++) {
		const void *place = (const char *)facts + table[i].place;

		mf_bytes_add_unsigned(bytes, i * KINDS + table[i].kind);
		switch (table[i].kind) {
		case UNSIGNED:
			mf_bytes_add_unsigned(bytes, *(const uint64_t *)place);
			break;
		case SIGNED:
			mf_bytes_add_signed(bytes, *(const int64_t *)place);
			break;
		default:
			mf_bytes_add_text(bytes, *(const char *const *)place);
		}
	}
}

void mf_facts_take(struct mf_cursor *cursor, struct mf_facts *facts)
{
	size_t n = mf_cursor_count(cursor, 2);

	*facts = (struct mf_facts){ 0 };
	for (size_t i = 0; i < n && !cursor->bad; i++) {
		uint64_t key = mf_cursor_unsigned(cursor), kind = key % KINDS;
		/* A fact that is not known, or that has become another kind of value, is read but not kept. */
		bool known = key / KINDS < FACTS && table[key / KINDS].kind == kind;
		void *place = known ? (char *)facts + table[key / KINDS].place : NULL;
		uint64_t number;
		int64_t difference;
		const char *text;

		switch (kind) {
		case UNSIGNED:
			number = mf_cursor_unsigned(cursor);
			if (place)
				*(uint64_t *)place = number;
			break;
		case SIGNED:
			difference = mf_cursor_signed(cursor);
			if (place)
				*(int64_t *)place = difference;
			break;
		default:
			text = mf_cursor_text(cursor);
			if (place)
				*(const char **)place = text;
		}
	}
}
