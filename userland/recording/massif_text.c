// SPDX-License-Identifier: GPL-2.0
// Reads massif.out files, of massif-ctl or of Valgrind's Massif, as if they were recordings.
//
// The first level of a tree has the innermost calls, and an entry's bytes include those of the entries below it. So the
// path from the first level to an entry is a stack, innermost call first, and what an entry has more than those below
// it are the bytes of this stack.

#include "recording/massif_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/printable.h"
#include "report/index.h"

#define BYTES_AT_FIRST	  65536u
#define BYTES_OF_LINE_MAX (16u << 20) /* a longer line is refused: the file is no text */

/* An entry of the tree that is being read, on the path from the first level to the current line. */
struct entry {
	uint32_t frame;
	uint64_t bytes; /* less those of the entries below it that have been read */
};

struct text_reader {
	struct mf_recorded *process;
	int fd;
	/* What was read of the file: the next line begins at @begin. It is moved, and replaced, when more is read. */
	char *text;
	size_t begin, end, room;
	size_t line;		  /* number of the line that was read last */
	int failure;		  /* why the file could not be read further: -errno; 0: nothing */
	struct mf_index frames;	  /* number of a frame by the hash of its text */
	struct mf_index objects;  /* number of an object by the hash of its path and copy */
	struct mf_index copies;	  /* how many frames have the same address */
	struct mf_index nodes;	  /* node by (parent, frame) */
	struct mf_index contexts; /* context by node */
	struct mf_arena arena;	  /* has the labels */
	const char **labels;	  /* the text of each frame */
	size_t frames_room, labels_room, nodes_room, contexts_room, objects_room, snapshots_room, leaves_room;
	size_t n_leaves;
	struct mf_location *locations; /* the location of each frame */
	size_t locations_room;
	struct entry path[MF_PROFILE_FRAMES_MAX];
	size_t depth; /* number of entries in @path */
	uint64_t *sums; /* bytes of each context in the current tree */
	uint32_t *held; /* the contexts with bytes in the current tree */
	size_t n_held, sums_room, held_room;
};

bool mf_massif_text_is(const char *text, size_t size)
{
	static const char begin[] = "desc: ";

	return size >= strlen(begin) && memcmp(text, begin, strlen(begin)) == 0;
}

static int mistake(const struct text_reader *r, struct mf_error *err, const char *what)
{
	return mf_error_set(err, -EBADMSG, "line %zu: %s", r->line, what);
}

static int no_memory(struct mf_error *err)
{
	return mf_error_set(err, -ENOMEM, "out of memory");
}

/* Makes room for element @count of *@array, and zeroes new elements. Returns false if out of memory. */
static bool grow(void *array, size_t count, size_t *room, size_t size)
{
	void **place = array, *larger;
	size_t more = *room ? *room * 2 : 64;

	if (count < *room)
		return true;
	larger = reallocarray(*place, more, size);
	if (!larger)
		return false;
	memset((char *)larger + *room * size, 0, (more - *room) * size);
	*place = larger;
	*room = more;
	return true;
}

/* Makes room for one more character, and for the NUL behind it. */
static bool make_room(struct text_reader *r)
{
	char *larger;

	if (r->room - r->end >= 2)
		return true;
	larger = realloc(r->text, 2 * r->room);
	if (!larger)
		return false;
	r->text = larger;
	r->room *= 2;
	return true;
}

/* Reads more of the file, behind what is there of the next line. Returns false at its end, or after a failure. */
static bool read_more(struct text_reader *r)
{
	ssize_t got;

	memmove(r->text, r->text + r->begin, r->end - r->begin);
	r->end -= r->begin;
	r->begin = 0;
	if (r->end > BYTES_OF_LINE_MAX)
		r->failure = -E2BIG;
	else if (!make_room(r))
		r->failure = -ENOMEM;
	if (r->failure)
		return false;
	got = read(r->fd, r->text + r->end, r->room - r->end - 1);
	if (got < 0)
		r->failure = -errno;
	else
		r->end += (size_t)got;
	return got > 0;
}

/* Returns the first character of the next line, or 0 at the end of the file. */
static char peek(struct text_reader *r)
{
	return r->begin < r->end || read_more(r) ? r->text[r->begin] : '\0';
}

/* Returns the next line, without its end, or NULL. Skips comments. The line is valid until the next call, or peek(). */
static char *next_line(struct text_reader *r)
{
	char *line, *end;

	do {
		size_t searched = 0;

		while (!(end = memchr(r->text + r->begin + searched, '\n', r->end - r->begin - searched))) {
			searched = r->end - r->begin;
			if (!read_more(r))
				break;
		}
		if (r->failure || (!end && r->begin == r->end))
			return NULL;
		line = r->text + r->begin;
		if ((size_t)((end ?: r->text + r->end) - line) > BYTES_OF_LINE_MAX)
			r->failure = -E2BIG;
		r->begin = end ? (size_t)(end - r->text) + 1 : r->end;
		end = end ?: r->text + r->end;
		*end = '\0';
		r->line += !r->failure;
		if (!r->failure && strlen(line) != (size_t)(end - line))
			r->failure = -EBADMSG;
		if (r->failure)
			return NULL;
	} while (*line == '#');
	return line;
}

/* Parses "@name@number" from a line. */
static int parse_number(struct text_reader *r, const char *line, const char *name, uint64_t *number,
			struct mf_error *err)
{
	size_t length = strlen(name);
	char *end;

	if (!line || strncmp(line, name, length) != 0)
		return mf_error_set(err, -EBADMSG, "line %zu: there is no %s", r->line, name);
	errno = 0;
	*number = strtoull(line + length, &end, 10);
	if (end == line + length || *end || errno)
		return mf_error_set(err, -EBADMSG, "line %zu: %s has no number", r->line, name);
	return 0;
}

static int take_number(struct text_reader *r, const char *name, uint64_t *number, struct mf_error *err)
{
	return parse_number(r, next_line(r), name, number, err);
}

/*
 * Returns in *@number the object with this kind and path. Objects with the same path differ by their @copy. None has the
 * bias of object 0, which stands for code of which nothing is known (see frames.h).
 */
static bool find_object(struct text_reader *r, enum mf_object_kind kind, const char *path, uint64_t copy,
			uint32_t *number)
{
	struct mf_recorded *process = r->process;
	uint32_t n = (uint32_t)process->profile.n_objects;
	uint64_t hash = mf_hash_text(path ?: "", copy);

	if (!grow(&process->objects, n, &r->objects_room, sizeof(*process->objects)))
		return false;
	for (uint32_t i = 0;; i++) {
		uint32_t *value = mf_index_put(&r->objects, hash, i, n);
		const struct mf_object *object;

		if (!value)
			return false;
		*number = *value;
		if (*value == n)
			break;
		object = &process->objects[*value];
		if (object->kind == kind && object->bias == copy + 1 && strcmp(object->path ?: "", path ?: "") == 0)
			return true;
	}
	process->objects[n] = (struct mf_object){ .kind = kind, .path = path, .bias = copy + 1 };
	process->profile.n_objects++;
	return true;
}

/* Splits "function (file:line)" or "function (in object)", which is changed. Returns the object, or NULL. */
static const char *split_position(char *text, struct mf_location *location)
{
	char *open = NULL, *colon, *end = text + strlen(text);
	const char *object = NULL;

	for (char *at = text; (at = strstr(at, " (")); at++)
		open = at;
	if (open && end[-1] == ')') {
		end[-1] = '\0';
		colon = strrchr(open, ':');
		if (strncmp(open + 2, "in ", 3) == 0) {
			object = open + 5;
			*open = '\0';
		} else if (colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")]) {
			location->file = open + 2;
			location->line = (unsigned int)strtoul(colon + 1, NULL, 10);
			*colon = '\0';
			*open = '\0';
		} else {
			end[-1] = ')';
		}
	}
	location->function = strcmp(text, "???") == 0 ? NULL : text;
	return object && strcmp(object, "???") != 0 ? object : NULL;
}

/*
 * Makes frame @number of the text of a tree's line, which is changed, and stays. Inlined calls have the same address as
 * the function into which they were inlined; their frames are told apart by their objects.
 */
static bool make_frame(struct text_reader *r, uint32_t number, char *text)
{
	struct mf_location *location = &r->locations[number];
	struct mf_frame *frame = &r->process->frames[number];
	const char *object;
	uint32_t *copies;
	char *end = text;

	mf_printable_clean(text);
	if (strncmp(text, "0x", 2) == 0)
		frame->pc = strtoull(text, &end, 16);
	if (end == text || strncmp(end, ": ", 2) != 0) {
		frame->pc = 0;
		return find_object(r, MF_OBJECT_NOTE, text, 0, &frame->object);
	}
	object = split_position(end + 2, location);
	copies = mf_index_put(&r->copies, frame->pc, 0, 0);
	return copies && find_object(r, object ? MF_OBJECT_FILE : MF_OBJECT_UNKNOWN, object, (*copies)++, &frame->object);
}

static char *copy_text(struct mf_arena *arena, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = mf_arena_alloc(arena, size);

	return copy ? memcpy(copy, text, size) : NULL;
}

/* Returns in *@number the frame with this text. Returns false if out of memory. */
static bool intern_frame(struct text_reader *r, const char *text, uint32_t *number)
{
	struct mf_recorded *process = r->process;
	uint32_t n = (uint32_t)process->n_frames;
	uint64_t hash = mf_hash_text(text, 0);

	if (!grow(&process->frames, n, &r->frames_room, sizeof(*process->frames)) ||
	    !grow(&r->labels, n, &r->labels_room, sizeof(*r->labels)) ||
	    !grow(&r->locations, n, &r->locations_room, sizeof(*r->locations)))
		return false;
	/* Different texts with the same hash are told apart by the second key. */
	for (uint32_t i = 0;; i++) {
		uint32_t *value = mf_index_put(&r->frames, hash, i, n);
		char *copy;

		if (!value)
			return false;
		*number = *value;
		if (*value != n) {
			if (strcmp(r->labels[*value], text) == 0)
				return true;
			continue;
		}
		r->labels[n] = copy_text(&r->arena, text);
		copy = copy_text(&process->names, text);
		if (!copy || !r->labels[n])
			return false;
		process->n_frames++;
		return make_frame(r, n, copy);
	}
}

static bool intern_node(struct text_reader *r, uint32_t parent, uint32_t frame, uint32_t *number)
{
	struct mf_recorded *process = r->process;
	uint32_t n = (uint32_t)process->n_nodes;
	uint32_t *value = mf_index_put(&r->nodes, parent, frame, n);

	if (!value || !grow(&process->nodes, n, &r->nodes_room, sizeof(*process->nodes)))
		return false;
	*number = *value;
	if (*value == n) {
		process->nodes[n] = (struct mf_recorded_node){ parent, frame };
		process->n_nodes++;
	}
	return true;
}

/* Returns in *@number the context of the stack that is the current path, whose last entry is the outermost call. */
static bool intern_context(struct text_reader *r, uint32_t *number)
{
	struct mf_recorded *process = r->process;
	uint32_t n = (uint32_t)process->profile.n_contexts, node = 0;
	uint32_t *value;

	for (size_t i = r->depth; i-- > 0;)
		if (!intern_node(r, node, r->path[i].frame, &node))
			return false;
	value = mf_index_put(&r->contexts, node, 0, n);
	if (!value || !grow(&process->contexts, n, &r->contexts_room, sizeof(*process->contexts)) ||
	    !grow(&r->sums, n, &r->sums_room, sizeof(*r->sums)))
		return false;
	*number = *value;
	if (*value == n) {
		process->contexts[n] = node;
		process->profile.n_contexts++;
	}
	return true;
}

/* Leaves the entries of the path beyond the first @depth, and counts the bytes of their stacks. */
static bool leave_entries(struct text_reader *r, size_t depth)
{
	for (; r->depth > depth; r->depth--) {
		uint64_t bytes = r->path[r->depth - 1].bytes;
		uint32_t context;

		if (!bytes)
			continue;
		if (!intern_context(r, &context) || !grow(&r->held, r->n_held, &r->held_room, sizeof(*r->held)))
			return false;
		if (!r->sums[context])
			r->held[r->n_held++] = context;
		r->sums[context] += bytes;
	}
	return true;
}

static int compare_contexts(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

/*
 * Adds the contexts with bytes to the leaves of the snapshot. A file has so many contexts, and so many snapshots, that
 * not all contexts are looked at for each snapshot.
 */
static bool take_leaves(struct text_reader *r, struct mf_profile_snapshot *snapshot)
{
	struct mf_recorded *process = r->process;

	snapshot->n_seen = process->profile.n_contexts;
	if (r->n_held)
		qsort(r->held, r->n_held, sizeof(*r->held), compare_contexts);
	for (size_t k = 0; k < r->n_held; k++) {
		uint32_t i = r->held[k];

		/* If the sum of a hostile file overflows, a context can be there twice. */
		if (!r->sums[i])
			continue;
		if (!grow(&process->leaves, r->n_leaves, &r->leaves_room, sizeof(*process->leaves)))
			return false;
		process->leaves[r->n_leaves++] = (struct mf_leaf){ .context = i, .bytes = r->sums[i] };
		snapshot->n_leaves++;
		r->sums[i] = 0;
	}
	r->n_held = 0;
	return true;
}

/* Parses " n2: 30 text". *@depth is its indentation. Returns the text, or NULL if it is no line of a tree. */
static char *parse_entry(char *line, size_t *depth, uint64_t *bytes)
{
	size_t indent = strspn(line, " ");
	char *at = line + indent, *end;

	if (*at != 'n')
		return NULL;
	at += 1 + strspn(at + 1, "0123456789");
	if (strncmp(at, ": ", 2) != 0)
		return NULL;
	*bytes = strtoull(at + 2, &end, 10);
	if (end == at + 2 || *end != ' ')
		return NULL;
	*depth = indent;
	return end + 1;
}

/* @extra: the snapshot's extra bytes. If the pages of a tree are of both kinds, only older files tell these apart. */
static void set_mode(struct text_reader *r, const char *root, uint64_t extra)
{
	static const struct {
		const char *begin;
		enum mf_pages_what what;
	} roots[] = {
		{ "(page allocation syscalls)", MF_PAGES_VIRTUAL },
		{ "(resident pages)", MF_PAGES_RESIDENT },
		{ "(mapped pages)", MF_PAGES_BOTH },
	};

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		if (strncmp(root, roots[i].begin, strlen(roots[i].begin)) != 0)
			continue;
		r->process->facts.pages = true;
		r->process->facts.what = roots[i].what == MF_PAGES_BOTH && !extra ? MF_PAGES_VIRTUAL : roots[i].what;
	}
}

static int take_tree(struct text_reader *r, struct mf_profile_snapshot *snapshot, struct mf_error *err)
{
	char *line = next_line(r), *text;
	uint64_t bytes;
	size_t depth;

	text = line ? parse_entry(line, &depth, &bytes) : NULL;
	if (!text || depth)
		return mistake(r, err, "there is no tree");
	set_mode(r, text, snapshot->extra_bytes);
	while (peek(r) == ' ') {
		line = next_line(r);
		text = line ? parse_entry(line, &depth, &bytes) : NULL;
		if (!text || !depth || depth > r->depth + 1)
			return mistake(r, err, "it is no entry of a tree");
		if (depth > MF_PROFILE_FRAMES_MAX)
			return mistake(r, err, "the tree is too deep");
		if (!leave_entries(r, depth - 1))
			return no_memory(err);
		if (depth > 1) {
			struct entry *above = &r->path[depth - 2];

			above->bytes -= bytes < above->bytes ? bytes : above->bytes;
		}
		r->path[depth - 1].bytes = bytes;
		if (!intern_frame(r, text, &r->path[depth - 1].frame))
			return no_memory(err);
		r->depth = depth;
	}
	if (!leave_entries(r, 0) || !take_leaves(r, snapshot))
		return no_memory(err);
	return 0;
}

/* Takes the snapshot that begins with @line. */
static int take_snapshot(struct text_reader *r, const char *line, struct mf_error *err)
{
	struct mf_recorded *process = r->process;
	struct mf_profile_snapshot *snapshot;
	uint64_t number, time;
	int code;

	if (!grow(&process->snapshots, process->profile.n_snapshots, &r->snapshots_room, sizeof(*snapshot)))
		return no_memory(err);
	snapshot = &process->snapshots[process->profile.n_snapshots];
	code = parse_number(r, line, "snapshot=", &number, err) ?: take_number(r, "time=", &time, err) ?:
	       take_number(r, "mem_heap_B=", &snapshot->heap_bytes, err) ?:
	       take_number(r, "mem_heap_extra_B=", &snapshot->extra_bytes, err) ?:
	       take_number(r, "mem_stacks_B=", &snapshot->stack_bytes, err);
	if (code)
		return code;
	snapshot->time = (int64_t)time;
	process->profile.n_snapshots++;
	line = next_line(r);
	if (line && strcmp(line, "heap_tree=empty") == 0)
		return 0;
	if (line && strcmp(line, "heap_tree=detailed") == 0)
		snapshot->tree = MF_TREE_DETAILED;
	else if (line && strcmp(line, "heap_tree=peak") == 0)
		snapshot->tree = MF_TREE_PEAK;
	else
		return mistake(r, err, "there is no heap_tree=");
	return take_tree(r, snapshot, err);
}

static int take_head(struct text_reader *r, const char *name, const char **value, struct mf_error *err)
{
	const char *line = next_line(r);
	char *copy;

	if (!line || strncmp(line, name, strlen(name)) != 0)
		return mf_error_set(err, -EBADMSG, "line %zu: there is no %s", r->line, name);
	copy = copy_text(&r->process->names, line + strlen(name));
	if (!copy)
		return no_memory(err);
	*value = copy;
	return 0;
}

static int take_file(struct text_reader *r, struct mf_error *err)
{
	static const char *const units[] = {
		[MF_TIME_INSTRUCTIONS] = "i",
		[MF_TIME_MS] = "ms",
		[MF_TIME_BYTES] = "B",
	};
	struct mf_facts *facts = &r->process->facts;
	const char *unit, *line;
	uint32_t root;
	int code;

	/* Object 0 is the unknown one; node 0 is the root. */
	if (!grow(&r->process->objects, 0, &r->objects_room, sizeof(*r->process->objects)) ||
	    !intern_node(r, UINT32_MAX, UINT32_MAX, &root))
		return no_memory(err);
	r->process->profile.n_objects = 1;
	code = take_head(r, "desc: ", &facts->desc, err) ?: take_head(r, "cmd: ", &facts->cmd, err) ?:
	       take_head(r, "time_unit: ", &unit, err);
	if (code)
		return code;
	for (facts->time_unit = 0; facts->time_unit <= MF_TIME_BYTES; facts->time_unit++)
		if (strcmp(unit, units[facts->time_unit]) == 0)
			break;
	if (facts->time_unit > MF_TIME_BYTES)
		return mistake(r, err, "the unit of time is not i, ms or B");
	while ((line = next_line(r))) {
		code = take_snapshot(r, line, err);
		if (code)
			return code;
	}
	return r->process->profile.n_snapshots ? 0 : mistake(r, err, "there are no snapshots");
}

/* Completes the profile, once its arrays no longer move. */
static int finish(struct text_reader *r, struct mf_error *err)
{
	const struct mf_symbolizer_options closed = { .closed = true };
	struct mf_recorded *process = r->process;
	struct mf_profile *profile = &process->profile;
	size_t used = 0;
	int code;

	for (size_t i = 0; i < profile->n_snapshots; i++) {
		struct mf_profile_snapshot *snapshot = &process->snapshots[i];

		snapshot->leaves = process->leaves ? process->leaves + used : NULL;
		used += snapshot->n_leaves;
		if (snapshot->tree != MF_TREE_EMPTY)
			process->end = snapshot;
	}
	if (!process->end)
		return mf_error_set(err, -EBADMSG, "none of its snapshots has a tree");
	profile->objects = process->objects;
	profile->snapshots = process->snapshots;
	code = mf_symbolizer_create(process->objects, profile->n_objects, &closed, &process->symbolizer, err);
	for (size_t i = 0; i < process->n_frames && !code; i++) {
		struct mf_location *location = mf_arena_alloc(&process->names, sizeof(*location));

		if (!location)
			return no_memory(err);
		*location = r->locations[i];
		if (!mf_symbolizer_give(process->symbolizer, process->frames[i], location, 1))
			return no_memory(err);
	}
	return code;
}

/* Says why the file could not be read further, where that would look like its end. */
static int explain(const struct text_reader *r, struct mf_error *err)
{
	if (r->failure == -E2BIG)
		return mf_error_set(err, -EBADMSG, "line %zu: it has more than %u bytes", r->line + 1, BYTES_OF_LINE_MAX);
	if (r->failure == -EBADMSG)
		return mistake(r, err, "it has a NUL");
	if (r->failure == -ENOMEM)
		return no_memory(err);
	return mf_error_set(err, r->failure, "%s", strerror(-r->failure));
}

int mf_massif_text_read(struct mf_recorded *process, int fd, struct mf_error *err)
{
	struct text_reader *r = calloc(1, sizeof(*r));
	int code;

	if (!r)
		return no_memory(err);
	r->process = process;
	r->fd = fd;
	r->room = BYTES_AT_FIRST;
	r->text = malloc(r->room);
	code = r->text ? take_file(r, err) : no_memory(err);
	if (r->failure)
		code = explain(r, err);
	code = code ?: finish(r, err);
	mf_index_deinit(&r->frames);
	mf_index_deinit(&r->objects);
	mf_index_deinit(&r->copies);
	mf_index_deinit(&r->nodes);
	mf_index_deinit(&r->contexts);
	free(r->labels);
	free(r->locations);
	free(r->sums);
	free(r->held);
	free(r->text);
	mf_arena_deinit(&r->arena);
	free(r);
	return code;
}
