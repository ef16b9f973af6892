// SPDX-License-Identifier: GPL-2.0
// Writes profiles for go tool pprof: a message of the protocol buffer profile.proto, compressed by gzip.

#include "report/pprof.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/bytes.h"
#include "report/counted.h"
#include "report/index.h"
#include "report/location.h"
#include "report/massif_file.h"
#include "report/touched.h"

/* Numbers of the fields of the messages in profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRINGS,
	VALUE_TYPE = 1,
	VALUE_UNIT,
	SAMPLE_LOCATIONS = 1,
	SAMPLE_VALUES,
	SAMPLE_LABEL,
	LABEL_KEY = 1,
	LABEL_TEXT,
	LABEL_NUMBER,
	MAPPING_ID = 1,
	MAPPING_START,
	MAPPING_LIMIT,
	MAPPING_OFFSET,
	MAPPING_FILE,
	MAPPING_BUILD_ID,
	MAPPING_HAS_FUNCTIONS,
	LOCATION_ID = 1,
	LOCATION_MAPPING,
	LOCATION_ADDRESS,
	LOCATION_LINE,
	LINE_FUNCTION = 1,
	LINE_LINE,
	FUNCTION_ID = 1,
	FUNCTION_NAME,
	FUNCTION_SYSTEM_NAME,
	FUNCTION_FILE,
};

/* Kinds of values on the wire. */
enum {
	WIRE_NUMBER = 0,
	WIRE_BYTES = 2,
};

struct writer {
	const struct mf_moment *moment;
	const struct mf_counts *counts; /* the counts of each context, or NULL */
	const struct mf_residency_detail *resident; /* what is known of each context's resident blocks, or NULL */
	bool has_touches; /* the samples have what the module says of first touches, in stacks of their own */
	const struct mf_object *objects; /* those of the stacks that are being added */
	uint32_t first_object; /* what is added to numbers of objects; those of first touches come after the others */
	struct mf_bytes file;
	struct mf_index strings; /* number of a string by its address; the same text may have several numbers */
	uint32_t n_strings;
	struct mf_index locations; /* number of a frame's location, from 0, by (pc, first_object plus object) */
	struct mf_index functions; /* number of a function, from 0, by the numbers of its name and file */
	uint32_t n_locations, n_functions;
	bool failed;
};

/* Without details, live blocks are counted at the end only. */
static bool has_blocks(const struct writer *w)
{
	return w->moment->snapshot->has_blocks || (w->counts && w->moment->is_end);
}

static uint64_t blocks_of(const struct writer *w, const struct mf_moment_stack *stack)
{
	return w->counts && w->moment->is_end ? w->counts[stack->context].live : stack->blocks;
}

static void add_tag(struct mf_bytes *bytes, unsigned int field, unsigned int wire)
{
	mf_bytes_add_unsigned(bytes, field << 3 | wire);
}

static void add_number(struct mf_bytes *bytes, unsigned int field, uint64_t number)
{
	add_tag(bytes, field, WIRE_NUMBER);
	mf_bytes_add_unsigned(bytes, number);
}

/* Adds @message, which is emptied, as field @field. */
static void add_message(struct mf_bytes *bytes, unsigned int field, struct mf_bytes *message)
{
	add_tag(bytes, field, WIRE_BYTES);
	mf_bytes_add_unsigned(bytes, message->size);
	mf_bytes_add(bytes, message->data, message->size);
	bytes->failed |= message->failed;
	mf_bytes_deinit(message);
}

static void add_string(struct mf_bytes *bytes, const char *text)
{
	add_tag(bytes, PROFILE_STRINGS, WIRE_BYTES);
	mf_bytes_add_unsigned(bytes, strlen(text));
	mf_bytes_add(bytes, text, strlen(text));
}

/* Adds @text to the table of strings, and returns its number there. String 0 is empty. */
static uint32_t new_string(struct writer *w, const char *text)
{
	add_string(&w->file, text);
	return w->n_strings++;
}

/* Returns the number of a string that lives as long as the symbolizer. */
static uint32_t string(struct writer *w, const char *text)
{
	uint32_t *number;

	if (!text)
		return 0;
	number = mf_index_put(&w->strings, (uint64_t)(uintptr_t)text, 0, w->n_strings);
	if (!number) {
		w->failed = true;
		return 0;
	}
	return *number == w->n_strings ? new_string(w, text) : *number;
}

/* Returns the id of a function, adding it if it is new. Ids begin at 1. */
static uint32_t function_id(struct writer *w, const char *name, const char *file)
{
	uint32_t name_number = string(w, name), file_number = string(w, file);
	uint32_t *number = mf_index_put(&w->functions, name_number, file_number, w->n_functions), id;
	struct mf_bytes message = { 0 };

	if (!number) {
		w->failed = true;
		return 0;
	}
	id = *number + 1;
	if (*number < w->n_functions)
		return id;
	w->n_functions++;
	add_number(&message, FUNCTION_ID, id);
	add_number(&message, FUNCTION_NAME, name_number);
	add_number(&message, FUNCTION_SYSTEM_NAME, name_number);
	add_number(&message, FUNCTION_FILE, file_number);
	add_message(&w->file, PROFILE_FUNCTION, &message);
	return id;
}

/* Adds the location of a frame, whose @n calls are @calls, the innermost first. */
static void add_location(struct writer *w, uint32_t id, const struct mf_call *calls, size_t n)
{
	const struct mf_object *object = &w->objects[calls[0].frame.object];
	struct mf_bytes message = { 0 };

	add_number(&message, LOCATION_ID, id);
	if (object->kind == MF_OBJECT_FILE || object->kind == MF_OBJECT_VDSO)
		add_number(&message, LOCATION_MAPPING, w->first_object + calls[0].frame.object);
	add_number(&message, LOCATION_ADDRESS, calls[0].frame.pc);
	for (size_t i = 0; i < n; i++) {
		const struct mf_location *location = calls[i].location;
		const char *name = location->note ?: mf_location_function(location->function, w->moment->options);
		struct mf_bytes line = { 0 };

		if (!name && !location->file)
			continue;
		add_number(&line, LINE_FUNCTION, function_id(w, name, location->file));
		add_number(&line, LINE_LINE, location->line);
		add_message(&message, LOCATION_LINE, &line);
	}
	add_message(&w->file, PROFILE_LOCATION, &message);
}

/* Adds the name and the ID of a stack's thread as labels of its sample. */
static void add_thread(struct writer *w, struct mf_bytes *sample, const struct mf_thread_info *thread)
{
	struct mf_bytes label = { 0 };

	if (*thread->name) {
		add_number(&label, LABEL_KEY, string(w, "thread"));
		add_number(&label, LABEL_TEXT, string(w, thread->name));
		add_message(sample, SAMPLE_LABEL, &label);
	}
	if (thread->tid) {
		add_number(&label, LABEL_KEY, string(w, "tid"));
		add_number(&label, LABEL_NUMBER, thread->tid);
		add_message(sample, SAMPLE_LABEL, &label);
	}
}

/* Adds the locations of a stack's calls. The calls of one frame, those that were inlined included, are one location. */
static void add_locations(struct writer *w, const struct mf_moment_stack *stack, struct mf_bytes *locations)
{
	const struct mf_call *calls = stack->calls;
	size_t n = stack->n, first, end;

	for (first = 0; first < n; first = end) {
		struct mf_frame frame = calls[first].frame;
		uint32_t *number = mf_index_put(&w->locations, frame.pc, w->first_object + frame.object, w->n_locations), id;

		/*
		 * The locations of one frame are elements of an array. If a function calls itself, the same frame can
		 * follow, beginning with the same element.
		 */
		for (end = first + 1; end < n && calls[end].location == calls[first].location + (end - first) &&
				      calls[end].frame.pc == frame.pc && calls[end].frame.object == frame.object;)
			end++;
		if (!number) {
			w->failed = true;
			break;
		}
		id = *number + 1;
		if (*number == w->n_locations) {
			w->n_locations++;
			add_location(w, id, calls + first, end - first);
		}
		mf_bytes_add_unsigned(locations, id);
	}
}

static int add_stack(void *data, const struct mf_moment_stack *stack, struct mf_error *err)
{
	struct mf_bytes locations = { 0 }, values = { 0 }, sample = { 0 };
	struct writer *w = data;
	const struct mf_profile *profile = w->moment->profile;

	add_locations(w, stack, &locations);
	if (w->has_touches)
		mf_bytes_add_unsigned(&values, 0);
	if (w->resident) {
		mf_bytes_add_unsigned(&values, mf_resident_of(w->resident, stack->context, MF_RESIDENT_PINNED));
		mf_bytes_add_unsigned(&values, mf_resident_of(w->resident, stack->context, MF_RESIDENT_TOUCHED));
	}
	if (w->counts) {
		mf_bytes_add_unsigned(&values, w->counts[stack->context].allocations);
		mf_bytes_add_unsigned(&values, w->counts[stack->context].allocated);
	}
	if (has_blocks(w))
		mf_bytes_add_unsigned(&values, blocks_of(w, stack));
	mf_bytes_add_unsigned(&values, stack->bytes);
	add_message(&sample, SAMPLE_LOCATIONS, &locations);
	add_message(&sample, SAMPLE_VALUES, &values);
	if (profile->threads)
		add_thread(w, &sample, &profile->threads[profile->context_threads[stack->context]]);
	add_message(&w->file, PROFILE_SAMPLE, &sample);
	return w->failed || w->file.failed ? mf_error_set(err, -ENOMEM, "out of memory") : 0;
}

/* Adds a stack that has touched pages first; all its other values are 0. */
static int add_touching_stack(void *data, const struct mf_moment_stack *stack, struct mf_error *err)
{
	struct mf_bytes locations = { 0 }, values = { 0 }, sample = { 0 };
	struct writer *w = data;
	unsigned int others = 2 + (w->counts ? 2 : 0) + (has_blocks(w) ? 1 : 0) + 1;

	add_locations(w, stack, &locations);
	mf_bytes_add_unsigned(&values, stack->bytes);
	while (others-- > 0)
		mf_bytes_add_unsigned(&values, 0);
	add_message(&sample, SAMPLE_LOCATIONS, &locations);
	add_message(&sample, SAMPLE_VALUES, &values);
	add_message(&w->file, PROFILE_SAMPLE, &sample);
	return w->failed || w->file.failed ? mf_error_set(err, -ENOMEM, "out of memory") : 0;
}

static void add_mapping(struct writer *w, uint32_t number, const struct mf_object *object)
{
	char build_id[2 * MF_BUILD_ID_MAX + 1] = "";
	struct mf_bytes message = { 0 };

	for (size_t i = 0; i < object->build_id_size; i++)
		snprintf(build_id + 2 * i, 3, "%02x", object->build_id[i]);
	add_number(&message, MAPPING_ID, number);
	add_number(&message, MAPPING_START, object->start);
	add_number(&message, MAPPING_LIMIT, object->end);
	/* With this offset, an address in the mapping leads to the same address in the file. */
	add_number(&message, MAPPING_OFFSET, object->start - object->bias);
	add_number(&message, MAPPING_FILE, new_string(w, object->path));
	add_number(&message, MAPPING_BUILD_ID, new_string(w, build_id));
	add_number(&message, MAPPING_HAS_FUNCTIONS, 1);
	add_message(&w->file, PROFILE_MAPPING, &message);
}

static void add_mappings(struct writer *w, const struct mf_profile *profile)
{
	for (uint32_t i = 1; i < profile->n_objects; i++) {
		const struct mf_object *object = &profile->objects[i];

		if (object->kind == MF_OBJECT_FILE || object->kind == MF_OBJECT_VDSO)
			add_mapping(w, w->first_object + i, object);
	}
}

/* Adds a type of the samples' values. */
static void add_type(struct writer *w, const char *type, const char *unit)
{
	struct mf_bytes message = { 0 };

	add_number(&message, VALUE_TYPE, new_string(w, type));
	add_number(&message, VALUE_UNIT, new_string(w, unit));
	add_message(&w->file, PROFILE_SAMPLE_TYPE, &message);
}

static void add_head(struct writer *w)
{
	const struct mf_profile *profile = w->moment->profile;

	new_string(w, "");
	if (w->has_touches)
		add_type(w, "first_touched", "bytes");
	if (w->resident) {
		add_type(w, "pinned", "bytes");
		add_type(w, "resident", "bytes");
	}
	if (w->counts) {
		add_type(w, "alloc_objects", "count");
		add_type(w, "alloc_space", "bytes");
	}
	if (has_blocks(w))
		add_type(w, "inuse_objects", "count");
	/* pprof shows the last type if the user does not choose. */
	add_type(w, "inuse_space", "bytes");
	add_mappings(w, profile);
}

static int compress_to(FILE *out, const struct mf_bytes *file, struct mf_error *err)
{
	z_stream stream = { 0 };
	uint8_t part[16384];
	int code;

	/* 16 + 15: gzip, with the largest window. */
	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return mf_error_set(err, -ENOMEM, "out of memory");
	stream.next_in = file->data;
	stream.avail_in = (uInt)file->size;
	do {
		stream.next_out = part;
		stream.avail_out = sizeof(part);
		code = deflate(&stream, Z_FINISH);
		fwrite(part, 1, sizeof(part) - stream.avail_out, out);
	} while (code == Z_OK);
	deflateEnd(&stream);
	return mf_massif_file_end(out, err);
}

/* Adds all stacks: those of the snapshot and, if there are counts, those that have allocated anything. */
static int add_stacks(struct writer *w, struct mf_error *err)
{
	struct mf_profile_snapshot snapshot = *w->moment->snapshot;
	struct mf_moment moment = *w->moment;
	struct mf_leaf *leaves;
	int code;

	snapshot.n_leaves = mf_moment_join_counts(&moment, &leaves, err);
	if (!leaves)
		return -ENOMEM;
	snapshot.leaves = leaves;
	moment.snapshot = &snapshot;
	code = mf_moment_each(&moment, add_stack, w, err);
	free(leaves);
	return code;
}

/* Adds who touched the resident pages first: stacks of another profile, with objects of its own. */
static int add_touches(struct writer *w, struct mf_error *err)
{
	const struct mf_first_touches *touches = w->moment->profile->touches;
	struct mf_touched_leaves leaves;
	struct mf_profile profile;
	const struct mf_moment moment = { &profile, &leaves.snapshot, w->moment->options, touches->symbolizer };
	int code = mf_touched_leaves_make(&leaves, w->resident, MF_TOUCHED_ALL, err);

	mf_touched_profile(touches, &profile);
	w->objects = profile.objects;
	w->first_object = (uint32_t)w->moment->profile->n_objects;
	add_mappings(w, &profile);
	if (!code)
		code = mf_moment_each(&moment, add_touching_stack, w, err);
	mf_touched_leaves_deinit(&leaves);
	return code;
}

int mf_pprof_write(FILE *out, const struct mf_moment *moment, struct mf_error *err)
{
	struct writer w = { .moment = moment, .counts = moment->profile->counts, .objects = moment->profile->objects };
	int code;

	w.resident = mf_resident_detail(moment->profile, moment->is_end);
	w.has_touches = w.resident && moment->profile->touches;
	add_head(&w);
	code = add_stacks(&w, err);
	if (!code && w.has_touches)
		code = add_touches(&w, err);
	if (!code && w.file.size > UINT32_MAX)
		code = mf_error_set(err, -E2BIG, "the file would have more than 4 GiB");
	if (!code)
		code = compress_to(out, &w.file, err);
	mf_bytes_deinit(&w.file);
	mf_index_deinit(&w.strings);
	mf_index_deinit(&w.locations);
	mf_index_deinit(&w.functions);
	return code;
}
