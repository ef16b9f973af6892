// SPDX-License-Identifier: GPL-2.0
// Tracks the pages of an address space that are or were resident, in windows of 16 pages.

#include "pages/windows.h"

#include <stdlib.h>
#include <string.h>

#define BITS_FIRST 8u

void mf_windows_deinit(struct mf_windows *windows)
{
	free(windows->windows);
	free(windows->buckets);
	*windows = (struct mf_windows){0};
}

static uint32_t *bucket_of(const struct mf_windows *windows, uint64_t address)
{
	uint64_t hash = address / MF_WINDOW_BYTES * 0x9e3779b97f4a7c15ull;

	return &windows->buckets[hash >> (64 - windows->bits)];
}

struct mf_window *mf_windows_find(const struct mf_windows *windows, uint64_t address)
{
	uint64_t start = address & ~(MF_WINDOW_BYTES - 1);
	uint32_t index;

	if (!windows->buckets)
		return NULL;
	for (index = *bucket_of(windows, start); index; index = windows->windows[index].next)
		if (windows->windows[index].address == start)
			return &windows->windows[index];
	return NULL;
}

/* Doubles the number of buckets. */
static bool spread(struct mf_windows *windows)
{
	uint32_t bits = windows->buckets ? windows->bits + 1 : BITS_FIRST;
	uint32_t *former = windows->buckets, old = former ? 1u << windows->bits : 0;
	uint32_t *buckets = calloc(1u << bits, sizeof(*buckets));

	if (!buckets)
		return false;
	windows->buckets = buckets;
	windows->bits = bits;
	for (uint32_t i = 0; i < old; i++) {
		uint32_t index = former[i], next;

		for (; index; index = next) {
			struct mf_window *window = &windows->windows[index];
			uint32_t *bucket = bucket_of(windows, window->address);

			next = window->next;
			window->next = *bucket;
			*bucket = index;
		}
	}
	free(former);
	return true;
}

static bool make_room(struct mf_windows *windows)
{
	if ((!windows->buckets || windows->count >= 1u << windows->bits) && !spread(windows))
		return false;
	if (!windows->free && windows->n == windows->max) {
		uint32_t max = windows->max ? windows->max * 2 : 256;
		struct mf_window *more = reallocarray(windows->windows, max, sizeof(*more));

		if (!more)
			return false;
		windows->windows = more;
		windows->max = max;
		if (!windows->n)
			windows->n = 1;
	}
	return true;
}

struct mf_window *mf_windows_make(struct mf_windows *windows, uint64_t address)
{
	struct mf_window *window = mf_windows_find(windows, address);
	uint32_t index, *bucket;

	if (window)
		return window;
	if (!make_room(windows))
		return NULL;
	index = windows->free;
	if (index)
		windows->free = windows->windows[index].next;
	else
		index = windows->n++;
	window = &windows->windows[index];
	*window = (struct mf_window){.address = address & ~(MF_WINDOW_BYTES - 1)};
	bucket = bucket_of(windows, window->address);
	window->next = *bucket;
	*bucket = index;
	windows->count++;
	return window;
}

static bool is_empty(const struct mf_window *window)
{
	static const uint8_t none[MF_WINDOW_PAGES];

	return !window->touched && !memcmp(window->kind, none, sizeof(none));
}

/* Returns a bitmap of the pages of @window that are between @start and @end. */
static uint16_t pages_in(const struct mf_window *window, uint64_t start, uint64_t end)
{
	uint32_t first = 0, last = MF_WINDOW_PAGES;

	if (start >= window->address + MF_WINDOW_BYTES || end <= window->address)
		return 0;
	if (start > window->address)
		first = mf_window_index(start);
	if (end < window->address + MF_WINDOW_BYTES)
		last = mf_window_index(end);
	return (uint16_t)((1u << last) - (1u << first));
}

/*
 * Calls @visit for the window (16 pages, struct mf_window) whose index is **@link, if the window has pages from @start
 * to @end. If the window is empty afterwards, unlinks and frees it; otherwise advances *@link to the next window in the
 * bucket. Returns false if @visit returned false, which ends the iteration.
 */
static bool visit_link(struct mf_windows *windows, uint32_t **link, uint64_t start, uint64_t end,
		       mf_windows_visit visit, void *data)
{
	uint32_t index = **link;
	struct mf_window *window = &windows->windows[index];
	uint16_t pages = pages_in(window, start, end);
	bool more = !pages || visit(window, pages, data);

	if (pages && is_empty(window)) {
		**link = window->next;
		window->next = windows->free;
		windows->free = index;
		windows->count--;
	} else {
		*link = &window->next;
	}
	return more;
}

void mf_windows_each(struct mf_windows *windows, uint64_t start, uint64_t end,
		     mf_windows_visit visit, void *data)
{
	uint64_t address = start & ~(MF_WINDOW_BYTES - 1);
	uint32_t *link;

	if (!windows->count || start >= end)
		return;
	if ((end - address) / MF_WINDOW_BYTES > windows->count) {
		for (uint32_t i = 0; i < 1u << windows->bits; i++)
			for (link = &windows->buckets[i]; *link;)
				if (!visit_link(windows, &link, start, end, visit, data))
					return;
		return;
	}
	for (; address < end; address += MF_WINDOW_BYTES) {
		link = bucket_of(windows, address);
		while (*link && windows->windows[*link].address != address)
			link = &windows->windows[*link].next;
		if (*link && !visit_link(windows, &link, start, end, visit, data))
			return;
	}
}
