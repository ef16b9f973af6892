// SPDX-License-Identifier: GPL-2.0
// Which parts of a file have been written to.
//
// To find the end of a part, the kernel looks at each of its pages. So a part that is known is not asked for again.

#include "residency/written_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Adds a part that does not begin before the last one. */
static int append(struct mf_written_parts *parts, off_t start, off_t end)
{
	struct mf_written_part *last = parts->n ? &parts->list[parts->n - 1] : NULL;

	if (last && start <= last->end) {
		last->end = end > last->end ? end : last->end;
		return 0;
	}
	if (parts->n == parts->room) {
		size_t room = parts->room ? 2 * parts->room : 64;
		struct mf_written_part *more = reallocarray(parts->list, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		parts->list = more;
		parts->room = room;
	}
	parts->list[parts->n++] = (struct mf_written_part){ start, end };
	return 0;
}

/* Adds the parts between @start and @end to @parts. A part that begins there is added as a whole. */
static int add_between(struct mf_written_parts *parts, int fd, off_t start, off_t end)
{
	int ret = 0;

	while (!ret && start < end) {
		off_t from = lseek(fd, start, SEEK_DATA);

		if (from < 0)
			return errno == ENXIO ? 0 : -errno;
		if (from >= end)
			return 0;
		start = lseek(fd, from, SEEK_HOLE);
		ret = start < 0 ? -errno : append(parts, from, start);
	}
	return ret;
}

int mf_written_parts_look(struct mf_written_parts *parts, int fd, off_t start, off_t end)
{
	struct mf_written_parts now = { 0 };
	int ret = 0;

	for (size_t i = 0; i < parts->n && !ret; i++) {
		const struct mf_written_part *known = &parts->list[i];

		ret = add_between(&now, fd, start, known->start);
		if (!ret)
			ret = append(&now, known->start, known->end);
		if (!ret)
			start = now.list[now.n - 1].end;
	}
	if (!ret)
		ret = add_between(&now, fd, start, end);
	if (ret) {
		mf_written_parts_deinit(&now);
		return ret;
	}
	mf_written_parts_deinit(parts);
	*parts = now;
	return 0;
}

void mf_written_parts_deinit(struct mf_written_parts *parts)
{
	free(parts->list);
	*parts = (struct mf_written_parts){ 0 };
}
