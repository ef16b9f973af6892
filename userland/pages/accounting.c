// SPDX-License-Identifier: GPL-2.0
// The profile of one address space: its mappings, the stacks that created them, and the model that they feed.

#include "pages/accounting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "model/objects.h"
#include "model/trie.h"

#define PAGE_BYTES 4096ull

/*
 * Address space reserved for one store. A small amount suffices because pages mode does not use the large regions,
 * which hold heap blocks. It must be small because there may be many processes.
 */
#define STORE_BUDGET (2ull << 30)

struct mf_note {
	char *words;
	uint32_t object, context;
};

/* A file at one load address; the same library may be loaded twice. */
struct mf_object_key {
	uint32_t file, object;
	uint64_t bias;
};

int mf_accounting_create(const struct mf_model_options *options, struct mf_files *files,
			 uint64_t origin_ns, struct mf_accounting **accounting,
			 struct mf_error *err)
{
	struct mf_model_options pages = *options;
	struct mf_accounting *a = calloc(1, sizeof(*a));
	int code;

	if (!a)
		return mf_error_set(err, -ENOMEM, "no memory for a profile");
	code = mf_store_create(&a->store, STORE_BUDGET, NULL, err);
	if (code) {
		free(a);
		return code;
	}
	a->memory = -1;
	pages.heap_admin = 0;
	mf_model_init(&a->store, &pages);
	mf_space_init(&a->space);
	mf_space_init(&a->inherited);
	a->files = files;
	a->origin_ns = origin_ns;
	*accounting = a;
	return 0;
}

void mf_accounting_show(struct mf_accounting *a, enum mf_pages_what what)
{
	a->what = what;
	if (what != MF_PAGES_VIRTUAL)
		mf_resident_init(&a->resident, a, what == MF_PAGES_BOTH);
}

void mf_accounting_ask(struct mf_accounting *a, bool (*counts)(void *data, uint32_t context),
		       void *data)
{
	a->counts = counts;
	a->counts_data = data;
}

void mf_accounting_destroy(struct mf_accounting *a)
{
	if (!a)
		return;
	free(a->visible);
	free(mf_take(a->store.files, NULL));
	mf_resident_deinit(&a->resident);
	for (size_t i = 0; i < a->n_notes; i++)
		free(a->notes[i].words);
	free(a->notes);
	free(a->objects);
	mf_space_deinit(&a->inherited);
	mf_space_deinit(&a->space);
	mf_code_deinit(&a->code);
	mf_store_detach(&a->store);
	if (a->memory >= 0)
		close(a->memory);
	free(a);
}

/*
 * Returns the context of the stack @frames. If resident pages are counted, returns the site of the stack instead, which
 * is the trie node of its innermost frame (resident.h).
 */
static uint32_t insert(struct mf_accounting *a, const struct mf_frame *frames, uint32_t n)
{
	uint32_t node = MF_NODE_ROOT;

	if (a->what == MF_PAGES_VIRTUAL)
		return mf_trie_insert(&a->store, frames, n);
	while (n--) {
		node = mf_trie_child(&a->store, node, frames[n]);
		if (node == UINT32_MAX)
			return MF_NODE_ROOT;
	}
	return node;
}

/* Copies the frames of a context or site to @frames; insert() does the inverse. */
static uint32_t frames_of(const struct mf_accounting *a, uint32_t place, struct mf_frame *frames,
			  uint32_t max)
{
	const struct mf_node *nodes = a->store.regions[MF_REGION_NODES];
	uint32_t n = 0;

	if (a->what == MF_PAGES_VIRTUAL)
		return mf_trie_frames(&a->store, place, frames, max);
	for (; place != MF_NODE_ROOT && n < max; place = nodes[place].parent)
		frames[n++] = (struct mf_frame){
			.pc = nodes[place].pc,
			.object = nodes[place].object,
		};
	return n;
}

/*
 * Returns the index of the placeholder text @words in a->notes, adding the text if it is new. Returns SIZE_MAX if out
 * of memory.
 */
static size_t find_note(struct mf_accounting *a, const char *words)
{
	struct mf_object object = {.kind = MF_OBJECT_NOTE, .path = words};
	struct mf_note *notes;
	char *copy;

	for (size_t i = 0; i < a->n_notes; i++)
		if (!strcmp(a->notes[i].words, words))
			return i;
	notes = realloc(a->notes, (a->n_notes + 1) * sizeof(*notes));
	if (!notes)
		return SIZE_MAX;
	a->notes = notes;
	copy = strdup(words);
	if (!copy)
		return SIZE_MAX;
	notes[a->n_notes] = (struct mf_note){
		.words = copy,
		.object = mf_objects_add(&a->store, &object),
	};
	return a->n_notes++;
}

uint32_t mf_accounting_note(struct mf_accounting *a, const char *words)
{
	size_t note = find_note(a, words);
	struct mf_frame frame = {0};

	if (note == SIZE_MAX)
		return MF_CONTEXT_NONE;
	if (!a->notes[note].context) {
		frame.object = a->notes[note].object;
		a->notes[note].context = insert(a, &frame, 1);
	}
	return a->notes[note].context;
}

uint32_t mf_accounting_notes(struct mf_accounting *a, const char *words, const char *below)
{
	size_t note = find_note(a, words), caller = find_note(a, below);
	struct mf_frame frames[2] = {{0}};

	if (note == SIZE_MAX || caller == SIZE_MAX)
		return MF_CONTEXT_NONE;
	frames[0].object = a->notes[note].object;
	frames[1].object = a->notes[caller].object;
	return insert(a, frames, 2);
}

uint32_t mf_accounting_object(struct mf_accounting *a, const char *words)
{
	size_t note = find_note(a, words);

	return note == SIZE_MAX ? MF_OBJECT_NONE : a->notes[note].object;
}

/* Records that @object is the open file @held, so that the file can be read when names are looked up. */
static void hold(struct mf_accounting *a, uint32_t object, struct mf_held_file *held)
{
	size_t room = a->store.sizes[MF_REGION_OBJECTS] / sizeof(struct mf_object_record);

	if (!a->store.files)
		a->store.files = calloc(room, sizeof(struct mf_held_file *));
	if (a->store.files && object < room)
		a->store.files[object] = held;
}

/* Returns the number of the object that contains @pc. @interval contains @pc and maps a file. */
static uint32_t find_object(struct mf_accounting *a, const struct mf_interval *interval,
			    uint64_t pc)
{
	const struct mf_file *file = mf_files_get(a->files, interval->file);
	struct mf_binary *binary = mf_files_binary(a->files, interval->file);
	const struct mf_elf_summary *summary = binary ? mf_binary_summary(binary) : NULL;
	uint64_t offset = interval->offset + (pc - interval->start), address;
	uint64_t bias = interval->start - interval->offset;
	struct mf_object_key *keys;
	struct mf_object object;

	if (summary && mf_elf_summary_address(summary, offset, &address))
		bias = pc - address;
	for (size_t i = 0; i < a->n_objects; i++)
		if (a->objects[i].file == interval->file && a->objects[i].bias == bias)
			return a->objects[i].object;

	object = (struct mf_object){
		.kind = mf_file_is_path(file) ? MF_OBJECT_FILE : MF_OBJECT_VDSO,
		.start = interval->start,
		.end = interval->end,
		.bias = bias,
		.path = file->path,
	};
	if (summary) {
		memcpy(object.build_id, summary->build_id, sizeof(object.build_id));
		object.build_id_size = summary->build_id_size;
	}
	keys = realloc(a->objects, (a->n_objects + 1) * sizeof(*keys));
	if (!keys)
		return MF_OBJECT_NONE;
	a->objects = keys;
	keys[a->n_objects] = (struct mf_object_key){
		.file = interval->file,
		.bias = bias,
		.object = mf_objects_add(&a->store, &object),
	};
	hold(a, keys[a->n_objects].object, mf_files_held(a->files, interval->file));
	return keys[a->n_objects++].object;
}

static uint32_t object_at(struct mf_accounting *a, uint64_t pc)
{
	const struct mf_interval *interval = mf_space_find(&a->space, pc);

	return interval && interval->file ? find_object(a, interval, pc) : MF_OBJECT_NONE;
}

/* Placeholder texts for the missing callers of an incomplete stack. */
static const char *const end_words[] = {
	[MF_UNWIND_OUTERMOST] = NULL,
	[MF_UNWIND_CUT] = "[rest of the stack not captured]",
	[MF_UNWIND_NO_RULES] = "[no unwind information]",
	[MF_UNWIND_FULL] = NULL,
};

/*
 * Appends a placeholder frame with the text @words to the @n frames, if there is room. Returns the new number of
 * frames.
 */
static uint32_t put_words(struct mf_accounting *a, struct mf_frame *frames, uint32_t n,
			  const char *words)
{
	size_t note = n < MF_CONTEXT_FRAMES_MAX ? find_note(a, words) : SIZE_MAX;

	if (note != SIZE_MAX)
		frames[n++] = (struct mf_frame){.object = a->notes[note].object};
	return n;
}

uint32_t mf_accounting_stack(struct mf_accounting *a, const struct mf_walk *walk)
{
	struct mf_frame frames[MF_CONTEXT_FRAMES_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < walk->n && n < MF_CONTEXT_FRAMES_MAX; i++) {
		if (i && walk->guessed[i] && !walk->guessed[i - 1])
			n = put_words(a, frames, n, MF_WORDS_GUESS);
		if (n < MF_CONTEXT_FRAMES_MAX)
			frames[n++] = (struct mf_frame){
				.pc = walk->addresses[i],
				.object = object_at(a, walk->addresses[i]),
			};
	}
	if (end_words[walk->end])
		n = put_words(a, frames, n, end_words[walk->end]);
	return insert(a, frames, n);
}

int64_t mf_accounting_time(const struct mf_accounting *a, uint64_t time_ns)
{
	return time_ns > a->origin_ns ? (int64_t)((time_ns - a->origin_ns) / 1000000) : 0;
}

static void charge(struct mf_accounting *a, uint32_t context, int64_t bytes)
{
	mf_trie_charge(&a->store, context, bytes);
	mf_model_change(mf_model_of(&a->store), bytes, 0);
}

static void attempt(struct mf_accounting *a, enum mf_occasion occasion, uint64_t time_ns)
{
	if (!a->taking_over)
		mf_model_attempt_on(&a->store, occasion, mf_accounting_time(a, time_ns));
}

static void check_peak(struct mf_accounting *a, uint64_t time_ns)
{
	if (!a->taking_over)
		mf_model_check_peak_on(&a->store, MF_OCCASION_PEAK_BEFORE_FREE,
				       mf_accounting_time(a, time_ns));
}

enum visibility { NOT_ASKED, COUNTS, IGNORED };

static bool counts(struct mf_accounting *a, uint32_t context)
{
	uint32_t n = context + context / 2 + 64;
	uint8_t *more;

	if (!a->counts || context < MF_CONTEXT_FIRST)
		return true;
	if (context >= a->n_visible) {
		more = realloc(a->visible, n);
		if (!more)
			return true;
		memset(more + a->n_visible, NOT_ASKED, n - a->n_visible);
		a->visible = more;
		a->n_visible = n;
	}
	if (a->visible[context] == NOT_ASKED)
		a->visible[context] = a->counts(a->counts_data, context) ? COUNTS : IGNORED;
	return a->visible[context] == COUNTS;
}

struct removal {
	struct mf_accounting *accounting;
	uint64_t time_ns;
	bool gone; /* the module has already reported that the resident pages of the range were removed */
	bool begun;
};

/*
 * Sets the model's totals from the counts in a->resident: heap to the resident bytes, extra to the bytes that are
 * mapped but not resident.
 */
static void follow(struct mf_accounting *a)
{
	const struct mf_resident *resident = &a->resident;
	struct mf_model *model = mf_model_of(&a->store);
	uint64_t pages = 0;

	for (unsigned int i = 0; i < MF_RESIDENT_COUNTERS; i++)
		pages += resident->pages[i];
	mf_model_change(model, (int64_t)(pages * PAGE_BYTES - model->heap),
			(int64_t)(resident->absent * PAGE_BYTES - model->extra));
}

/*
 * Removes the bytes that are mapped but not resident. The resident pages are removed when the module reports their
 * removal, which may happen before or after this call. Pages are not counted as blocks here. The caller attempts a
 * single snapshot for all parts of the unmapped range.
 */
static void part_left_resident(const struct mf_interval *part, struct removal *removal)
{
	struct mf_accounting *a = removal->accounting;

	if (a->what == MF_PAGES_BOTH && !removal->begun)
		check_peak(a, removal->time_ns);
	removal->begun = true;
	mf_resident_unmapped(&a->resident, part, removal->gone);
	if (a->what == MF_PAGES_BOTH)
		follow(a);
}

static int settle(struct mf_accounting *a)
{
	int code = mf_resident_settle(&a->resident);

	if (a->what == MF_PAGES_BOTH)
		follow(a);
	return code;
}

/*
 * As in Massif, a region is removed page by page: before the first page is removed, we check for a peak; after it is
 * removed, we try to take a snapshot. No snapshot is attempted after the other pages.
 */
static void part_left(const struct mf_interval *part, void *data)
{
	struct removal *removal = data;
	struct mf_accounting *a = removal->accounting;
	uint64_t bytes = part->end - part->start;

	mf_code_unmap(&a->code, part->start, part->end);
	if (a->what != MF_PAGES_VIRTUAL) {
		part_left_resident(part, removal);
		return;
	}
	/* Each page counts as one block; the count has 32 bits, as in Massif. */
	if (!counts(a, part->context)) {
		mf_model_of(&a->store)->ignored_frees += (uint32_t)(bytes / PAGE_BYTES);
		return;
	}
	mf_model_of(&a->store)->heap_frees += (uint32_t)(bytes / PAGE_BYTES);
	if (!removal->begun) {
		removal->begun = true;
		check_peak(a, removal->time_ns);
		charge(a, part->context, -(int64_t)PAGE_BYTES);
		attempt(a, MF_OCCASION_FREE, removal->time_ns);
		bytes -= PAGE_BYTES;
	}
	if (bytes)
		charge(a, part->context, -(int64_t)bytes);
}

static int map_resident(struct mf_accounting *a, const struct mf_interval *interval,
			const struct removal *removal)
{
	const bool both = a->what == MF_PAGES_BOTH;
	int code;

	if (both && removal->begun)
		attempt(a, MF_OCCASION_FREE, removal->time_ns);
	code = mf_resident_mapped(&a->resident, interval);
	if (both) {
		follow(a);
		attempt(a, MF_OCCASION_ALLOC, removal->time_ns);
	}
	/*
	 * The new mapping may have replaced one to which resident pages had been assigned by guesswork, since their
	 * real addresses are unknown. These pages now have no address, so move them to unoccupied mapped addresses.
	 */
	return code || !removal->begun ? code : settle(a);
}

/* As in Massif, all pages of a region are added, then a snapshot is attempted. */
int mf_accounting_map(struct mf_accounting *a, const struct mf_interval *interval, uint64_t time_ns)
{
	struct removal removal = {.accounting = a, .time_ns = time_ns};
	int code = mf_space_add(&a->space, interval, part_left, &removal);

	if (code)
		return code;
	if (a->what != MF_PAGES_VIRTUAL)
		return map_resident(a, interval, &removal);
	if (!counts(a, interval->context)) {
		mf_model_of(&a->store)->ignored_allocs +=
			(uint32_t)((interval->end - interval->start) / PAGE_BYTES);
		return 0;
	}
	charge(a, interval->context, (int64_t)(interval->end - interval->start));
	mf_model_of(&a->store)->heap_allocs +=
		(uint32_t)((interval->end - interval->start) / PAGE_BYTES);
	attempt(a, MF_OCCASION_ALLOC, time_ns);
	return 0;
}

int mf_accounting_unmap(struct mf_accounting *a, uint64_t start, uint64_t end, bool gone,
			uint64_t time_ns)
{
	struct removal removal = {.accounting = a, .time_ns = time_ns, .gone = gone};
	int code;

	code = mf_space_remove(&a->space, start, end, part_left, &removal);
	if (code || a->what == MF_PAGES_VIRTUAL || !removal.begun)
		return code;
	code = settle(a);
	if (a->what == MF_PAGES_BOTH)
		attempt(a, MF_OCCASION_FREE, time_ns);
	return code;
}

int mf_accounting_land(struct mf_accounting *a, uint64_t from, uint64_t to)
{
	int code = mf_resident_land(&a->resident, from, to);

	if (a->what != MF_PAGES_VIRTUAL)
		follow(a);
	return code;
}

int mf_accounting_turn(struct mf_accounting *a, uint32_t thread)
{
	int code;

	if (a->what == MF_PAGES_VIRTUAL)
		return 0;
	code = mf_resident_turn(&a->resident, thread);
	follow(a);
	return code;
}

int mf_accounting_resident(struct mf_accounting *a, const struct massif_rec_resident *record,
			   uint32_t site)
{
	struct mf_model *model = mf_model_of(&a->store);
	uint64_t after = 0;
	int64_t change;
	int code;

	if (a->what == MF_PAGES_VIRTUAL)
		return 0;
	for (unsigned int i = 0; i < MF_RESIDENT_COUNTERS; i++)
		after += record->rss[i] * PAGE_BYTES;
	change = (int64_t)(after - model->heap);
	if (change < 0 && a->what == MF_PAGES_RESIDENT)
		check_peak(a, record->h.time_ns);
	code = mf_resident_take(&a->resident, record, site);
	if (code)
		return code;
	follow(a);
	if (model->heap != after)
		/* Cannot happen: mf_resident_take() makes our number of resident pages equal to the record's. */
		return -EPROTO;
	if (after > a->most_resident) {
		a->most_resident = after;
		a->most_resident_ns = record->h.time_ns;
	}
	if (change < 0)
		model->heap_frees += (uint32_t)(-change / (int64_t)PAGE_BYTES);
	else
		model->heap_allocs += (uint32_t)(change / (int64_t)PAGE_BYTES);
	if (record->cause == MASSIF_RESIDENT_BASE)
		mf_accounting_taken_over(a, record->h.time_ns);
	attempt(a, change < 0 ? MF_OCCASION_FREE : MF_OCCASION_ALLOC, record->h.time_ns);
	return 0;
}

void mf_accounting_taken_over(struct mf_accounting *a, uint64_t time_ns)
{
	if (!mf_take(a->taking_over, false))
		return;
	check_peak(a, time_ns);
}

static int inherit_names(struct mf_accounting *child, const struct mf_accounting *parent)
{
	struct mf_object object;

	child->notes = calloc(parent->n_notes + 1, sizeof(*child->notes));
	child->objects = calloc(parent->n_objects + 1, sizeof(*child->objects));
	if (!child->notes || !child->objects)
		return -ENOMEM;

	/* Copy the objects from the parent's store to the child's in order, so that they keep their numbers. */
	for (uint32_t i = 1; i < parent->store.header->n_objects; i++)
		if (mf_objects_read(&parent->store, i, &object))
			mf_objects_add(&child->store, &object);
	for (size_t i = 0; i < parent->n_objects; i++)
		child->objects[i] = parent->objects[i];
	child->n_objects = parent->n_objects;
	for (size_t i = 0; i < parent->n_notes; i++) {
		child->notes[i] = (struct mf_note){
			.words = strdup(parent->notes[i].words),
			.object = parent->notes[i].object,
		};
		if (!child->notes[i].words)
			return -ENOMEM;
		child->n_notes++;
	}
	return 0;
}

static int inherit_mappings(struct mf_accounting *child, const struct mf_accounting *parent)
{
	uint32_t n_contexts = parent->what == MF_PAGES_VIRTUAL ? parent->store.header->n_contexts :
								 parent->store.header->n_nodes;
	mf_auto_free uint32_t *contexts = calloc(n_contexts, sizeof(*contexts));
	struct mf_frame frames[MF_CONTEXT_FRAMES_MAX];
	const struct mf_interval *interval;

	if (!contexts)
		return -ENOMEM;
	for (interval = mf_space_next(&parent->space, 0); interval;
	     interval = mf_space_next(&parent->space, interval->end)) {
		struct mf_interval same = *interval;
		uint32_t *context = &contexts[same.context];
		int code;

		if (!*context) {
			uint32_t n = frames_of(parent, same.context, frames,
					       MF_CONTEXT_FRAMES_MAX);

			*context = insert(child, frames, n);
		}
		same.context = *context;
		code = mf_space_add(&child->inherited, &same, NULL, NULL);
		if (code)
			return code;
	}
	return 0;
}

int mf_accounting_inherit(struct mf_accounting *child, const struct mf_accounting *parent,
			  struct mf_error *err)
{
	int code = inherit_names(child, parent);

	if (!code)
		code = inherit_mappings(child, parent);
	if (!code && parent->what != MF_PAGES_VIRTUAL)
		code = mf_resident_inherit(&child->resident, &parent->resident);
	if (code)
		return mf_error_set(err, code, "no memory for a forked process's profile");
	return 0;
}
