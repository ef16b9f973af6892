// SPDX-License-Identifier: GPL-2.0
// Reads massif.out files as text.

#include "selftests/lib/massif_text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 4096

static bool begins(const char *line, const char *word)
{
	return strncmp(line, word, strlen(word)) == 0;
}

static const char *next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end ? end + 1 : line + strlen(line);
}

char *massif_text_normalise(const char *text)
{
	char *copy = malloc(strlen(text) * 2 + 1), *to = copy;

	if (!copy)
		abort();
	while (*text) {
		const char *end = next_line(text);

		if (begins(text, "desc:") || begins(text, "cmd:")) {
			text = end;
			continue;
		}
		while (text < end) {
			if (begins(text, ": 0x") || begins(text, " 0x")) {
				const char *digits = strchr(text, 'x') + 1;

				to += sprintf(to, " 0xADDRESS");
				for (text = digits; isxdigit((unsigned char)*text); text++)
					;
				continue;
			}
			*to++ = *text++;
		}
	}
	*to = '\0';
	return copy;
}

/* Returns the start of the line after `heap_tree=peak`, or NULL if there is no peak. */
static const char *peak_tree(const char *text)
{
	const char *found = strstr(text, "\nheap_tree=peak\n");

	return found ? next_line(found + 1) : NULL;
}

uint64_t massif_text_peak(const char *text)
{
	const char *tree = peak_tree(text), *found = NULL;

	for (const char *line = text; tree && line < tree; line = next_line(line))
		if (begins(line, "mem_heap_B="))
			found = line;
	return found ? strtoull(strchr(found, '=') + 1, NULL, 10) : 0;
}

static bool has_word(const char *line, const char *const *words)
{
	size_t length = strcspn(line, "\n");

	for (; *words; words++)
		if (memmem(line, length, *words, strlen(*words)))
			return true;
	return false;
}

struct massif_text_reach massif_text_reach(const char *text, const char *const *words)
{
	struct massif_text_reach reach = { 0 };
	static bool reached[DEPTH_MAX + 1];
	const char *line = peak_tree(text);

	for (; line && *line && *line != '#'; line = next_line(line)) {
		size_t depth = strspn(line, " ");
		unsigned long children;
		uint64_t bytes;
		char *end;

		/* Do not use sscanf() here: every call would compute the length of the rest of the text. */
		if (depth >= DEPTH_MAX || line[depth] != 'n')
			break;
		children = strtoul(line + depth + 1, &end, 10);
		if (*end != ':')
			break;
		bytes = strtoull(end + 1, NULL, 10);
		reached[depth] = (depth && reached[depth - 1]) || has_word(line, words);
		if (children)
			continue;
		reach.leaves += bytes;
		if (reached[depth])
			reach.reached += bytes;
	}
	return reach;
}

bool massif_text_trees_agree(const char *text)
{
	uint64_t heap = 0, sum = 0;
	bool in_tree = false;

	for (;; text = next_line(text)) {
		const char *line = text + strspn(text, " ");
		char *end;

		if (in_tree && *line != 'n') {
			if (sum != heap) {
				fprintf(stderr, "heap %lu, leaves %lu\n", heap, sum);
				return false;
			}
			in_tree = false;
		}
		if (!*line)
			return true;
		if (begins(text, "mem_heap_B="))
			heap = strtoull(strchr(text, '=') + 1, NULL, 10);
		if (begins(text, "heap_tree=") && !begins(text, "heap_tree=empty")) {
			in_tree = true;
			sum = 0;
		}
		if (in_tree && *line == 'n' && strtoul(line + 1, &end, 10) == 0 && *end == ':')
			sum += strtoull(end + 1, NULL, 10);
	}
}

bool massif_text_sums_agree(const char *text, const char *xtree)
{
	const char *last = NULL, *at, *totals = strstr(xtree, "\ntotals: ");
	unsigned long long heap, root, sum = 0, live, bytes;

	for (at = text; (at = strstr(at, "\nmem_heap_B=")); at++)
		last = at;
	if (!last || !totals || sscanf(last, "\nmem_heap_B=%llu", &heap) != 1 ||
	    sscanf(totals, "\ntotals: %llu", &live) != 1)
		return false;
	at = strstr(last, "\nn");
	if (!at || sscanf(at, "\nn%*u: %llu", &root) != 1)
		return false;
	for (at++; (at = strstr(at, "\n n")); at++) {
		if (sscanf(at, "\n n%*u: %llu", &bytes) == 1)
			sum += bytes;
	}
	if (heap == root && heap == sum && heap == live && heap >> 30 == 1)
		return true;
	fprintf(stderr, "heap %llu, root %llu, leaves %llu, live blocks %llu\n", heap, root, sum,
		live);
	return false;
}
