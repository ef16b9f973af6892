// SPDX-License-Identifier: GPL-2.0
// Numbers the distinct frames of a profile, from 0.

#include "report/frames.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/index.h"

#define POSITIONS 256u

struct mf_frames {
	/*
	 * maps each object to the representative of all objects with the same code: an object that is still loaded, or,
	 * if there is none, the first
	 */
	uint32_t *same;
	size_t n_objects;
	struct mf_frame *list;
	uint32_t count, room;
	struct mf_index index; /* frame numbers by (pc, object) */
	struct last {
		struct mf_frame frame;
		uint32_t next; /* number of @frame plus one, or 0 if there is no frame */
	/* for each position in a stack, modulo POSITIONS: the frame most recently passed to mf_frames_intern_at() */
	} last[POSITIONS];
};

static int compare_code(const struct mf_object *a, const struct mf_object *b)
{
	int order;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->bias != b->bias)
		return a->bias < b->bias ? -1 : 1;
	order = strcmp(a->path ? a->path : "", b->path ? b->path : "");
	if (order)
		return order;
	if (a->build_id_size != b->build_id_size)
		return a->build_id_size < b->build_id_size ? -1 : 1;
	return memcmp(a->build_id, b->build_id, a->build_id_size);
}

static int compare_objects(const void *a, const void *b, void *objects)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct mf_object *table = objects;
	int order = compare_code(&table[i], &table[j]);

	if (order)
		return order;
	if (table[i].unloaded != table[j].unloaded)
		return table[i].unloaded ? 1 : -1;
	return i < j ? -1 : i > j;
}

/* Fills frames->same, which maps each object to one with the same code. Returns false if out of memory. */
static bool find_same_objects(struct mf_frames *frames, const struct mf_object *objects)
{
	size_t n = frames->n_objects;
	uint32_t *order = malloc((n + 1) * sizeof(*order));
	uint32_t first = 0;

	frames->same = malloc((n + 1) * sizeof(*frames->same));
	if (!order || !frames->same) {
		free(order);
		return false;
	}
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof(*order), compare_objects, (void *)objects);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || compare_code(&objects[first], &objects[order[i]]) != 0)
			first = order[i];
		frames->same[order[i]] = first;
	}
	free(order);
	return true;
}

int mf_frames_create(const struct mf_object *objects, size_t n_objects, struct mf_frames **out,
		     struct mf_error *err)
{
	struct mf_frames *frames = calloc(1, sizeof(*frames));

	if (!frames)
		return mf_error_set(err, -ENOMEM, "out of memory for the frames of the profile");
	frames->n_objects = n_objects;
	if (!find_same_objects(frames, objects)) {
		mf_frames_destroy(frames);
		return mf_error_set(err, -ENOMEM, "out of memory for the frames of the profile");
	}
	*out = frames;
	return 0;
}

void mf_frames_destroy(struct mf_frames *frames)
{
	if (!frames)
		return;
	mf_index_deinit(&frames->index);
	free(frames->list);
	free(frames->same);
	free(frames);
}

uint32_t mf_frames_intern(struct mf_frames *frames, struct mf_frame frame)
{
	uint32_t *value;

	/* In a damaged store, a frame may refer to a nonexistent object. */
	if (frame.object < frames->n_objects)
		frame.object = frames->same[frame.object];
	else
		frame.object = 0;

	if (frames->count == frames->room) {
		uint32_t room = frames->room ? frames->room * 2 : 1024;
		struct mf_frame *list = reallocarray(frames->list, room, sizeof(*list));

		if (!list)
			return MF_FRAMES_NONE;
		frames->list = list;
		frames->room = room;
	}
	value = mf_index_put(&frames->index, frame.pc, frame.object, frames->count);
	if (!value)
		return MF_FRAMES_NONE;
	if (*value == frames->count)
		frames->list[frames->count++] = frame;
	return *value;
}

uint32_t mf_frames_intern_at(struct mf_frames *frames, struct mf_frame frame, uint32_t position)
{
	struct last *last = &frames->last[position % POSITIONS];

	if (!last->next || last->frame.pc != frame.pc || last->frame.object != frame.object)
		*last = (struct last){ frame, mf_frames_intern(frames, frame) + 1 };
	/*
	 * If mf_frames_intern() ran out of memory, last->next is MF_FRAMES_NONE + 1, which wraps to 0, so this returns
	 * MF_FRAMES_NONE.
	 */
	return last->next - 1;
}

uint32_t mf_frames_count(const struct mf_frames *frames)
{
	return frames->count;
}

struct mf_frame mf_frames_get(const struct mf_frames *frames, uint32_t number)
{
	return frames->list[number];
}
