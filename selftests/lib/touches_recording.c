// SPDX-License-Identifier: GPL-2.0
// Writes recordings of made-up processes whose pages code has touched first, as massif.ko records that.

#include "selftests/lib/touches_recording.h"

#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording/section.h"
#include "recording/writer.h"

enum { KIND = 1, PROGRAM, LIBRARY, OBJECTS };

/* The test's own code stands for a program. */
__attribute__((noipa)) void touches_alpha(void)
{
}

__attribute__((noipa)) void touches_beta(void)
{
}

__attribute__((noipa)) void touches_gamma(void)
{
}

static uint32_t read_context(const void *source, uint32_t number, struct mf_frame *frames)
{
	const struct mf_frame alpha = { (uintptr_t)touches_alpha, PROGRAM }, beta = { (uintptr_t)touches_beta, PROGRAM };
	const struct mf_frame gamma = { (uintptr_t)touches_gamma, PROGRAM }, library = { (uintptr_t)qsort, LIBRARY };
	const struct {
		uint32_t n;
		struct mf_frame frames[3];
	} stacks[TOUCHES_MANY] = {
		[TOUCHES_UNKNOWN] = { 1, { { .pc = 0x1234 } } },
		[TOUCHES_ALPHA] = { 2, { alpha, gamma } },
		[TOUCHES_BETA] = { 3, { library, beta, gamma } },
		[TOUCHES_LIBRARY] = { 1, { library } },
	};

	/* The first frame of a stack from massif.ko is not a call: it says what kind of page was touched. */
	frames[0] = (struct mf_frame){ .object = KIND };
	if (number >= TOUCHES_MANY) {
		frames[1] = (struct mf_frame){ .pc = 0x20000 + number };
		return 2;
	}
	memcpy(frames + 1, stacks[number].frames, stacks[number].n * sizeof(*frames));
	return stacks[number].n + 1;
}

static int find_object(struct dl_phdr_info *info, size_t size, void *data)
{
	static char program[PATH_MAX];
	struct mf_object *objects = data;
	struct mf_object *object = !*info->dlpi_name ? &objects[PROGRAM] : &objects[LIBRARY];

	if (*info->dlpi_name && !strstr(info->dlpi_name, "/libc.so"))
		return 0;
	*object = (struct mf_object){ .kind = MF_OBJECT_FILE, .bias = info->dlpi_addr, .path = info->dlpi_name };
	if (object == &objects[PROGRAM])
		object->path = realpath("/proc/self/exe", program);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
			continue;
		object->start = info->dlpi_addr + part->p_vaddr;
		object->end = object->start + part->p_memsz;
	}
	return 0;
}

/* Adds one process to @file. */
static bool add_process(struct mf_bytes *file, struct mf_object *objects, const struct mf_residency *residency, uint64_t pid)
{
	const struct mf_facts facts = { .pid = pid, .name = "name", .cmd = "program", .desc = "(none)", .version = "test" };
	const struct mf_profile_snapshot end = { .tree = MF_TREE_DETAILED };
	const struct mf_leaf leaf = { .context = TOUCHES_UNKNOWN, .bytes = TOUCHES_PEAK };
	const struct mf_profile_snapshot peak = {
		.heap_bytes = TOUCHES_PEAK, .tree = MF_TREE_PEAK, .leaves = &leaf, .n_leaves = 1, .n_seen = 1,
	};
	const struct mf_profile touched = {
		.objects = objects, .n_objects = OBJECTS, .n_contexts = TOUCHES_CONTEXTS, .read_context = read_context,
		.snapshots = &peak, .n_snapshots = 1,
	};
	struct mf_first_touches touches = { .profile = &touched, .peak = TOUCHES_PEAK, .lost = TOUCHES_LOST, .end = &end };
	struct mf_profile profile = { .objects = objects, .n_objects = 1, .residency = residency };
	int code;

	if (mf_symbolizer_create(objects, OBJECTS, &(struct mf_symbolizer_options){ .unconfined = true }, &touches.symbolizer,
				 NULL))
		return false;
	if (!residency->n_samples)
		profile.residency = NULL;
	if (residency->peak.n_touches)
		profile.touches = &touches;
	code = mf_recording_add(file, &facts, &profile, &end, touches.symbolizer, NULL);
	mf_symbolizer_destroy(touches.symbolizer);
	return !code;
}

/* Copies the sections of @file, but for those of type @without. */
static void copy_sections(struct mf_bytes *copy, const struct mf_bytes *file, uint32_t without)
{
	size_t at = 16;

	mf_bytes_add(copy, file->data, at);
	while (at < file->size) {
		uint64_t stored;
		uint32_t type;

		memcpy(&type, file->data + at + 4, sizeof(type));
		memcpy(&stored, file->data + at + 8, sizeof(stored));
		if (type != without)
			mf_bytes_add(copy, file->data + at, 24 + stored);
		at += 24 + stored;
	}
}

bool touches_recording_write(const char *path, const struct mf_residency *residencies, size_t n, uint32_t without)
{
	struct mf_object objects[OBJECTS] = { [KIND] = { .kind = MF_OBJECT_NOTE, .path = "[anonymous pages]" } };
	struct mf_bytes file = { 0 }, rest = { 0 };
	FILE *out = fopen(path, "w");
	bool worked = out;

	dl_iterate_phdr(find_object, objects);
	mf_section_add_magic(&file);
	for (size_t i = 0; i < n && worked; i++)
		worked = add_process(&file, objects, &residencies[i], 7 + i);
	if (worked) {
		copy_sections(&rest, &file, without);
		worked = fwrite(rest.data, 1, rest.size, out) == rest.size;
	}
	if (out && fclose(out))
		worked = false;
	mf_bytes_deinit(&file);
	mf_bytes_deinit(&rest);
	return worked;
}
