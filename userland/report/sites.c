// SPDX-License-Identifier: GPL-2.0
// Adds up the live bytes of a profile's stacks by what their innermost calls have in common.

#include "report/sites.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/printable.h"
#include "report/counted.h"
#include "report/location.h"
#include "report/standard.h"

/* Of a longer stack, the outer calls are left out. Stacks that differ only in these are one. */
#define LABEL_BYTES_MAX (256u << 10)

const char *const mf_sites_by_names[MF_SITES_BYS] = {
	[MF_SITES_BY_SITE] = "site",
	[MF_SITES_BY_FUNCTION] = "function",
	[MF_SITES_BY_PLACE] = "place",
	[MF_SITES_BY_FILE] = "file",
	[MF_SITES_BY_LIBRARY] = "library",
	[MF_SITES_BY_STACK] = "stack",
	[MF_SITES_BY_THREAD] = "thread",
	[MF_SITES_BY_THREAD_NAME] = "thread-name",
	[MF_SITES_BY_ALLOCATOR] = "allocator",
	[MF_SITES_BY_PROCESS] = "process",
};

static void put(struct mf_bytes *label, const char *text)
{
	mf_bytes_add(label, text, strlen(text));
}

static void put_function(struct mf_bytes *label, const struct mf_moment *moment, const struct mf_call *call)
{
	bool is_named = call->location->function || call->location->note;
	char text[32];

	put(label, moment->is_compared && !is_named ? "???" : mf_call_name(call, moment->options, text));
}

/* Another build of the program can be in another directory. */
static const char *object_of(const struct mf_moment *moment, const struct mf_location *location)
{
	const char *slash = moment->without_lines && location->object ? strrchr(location->object, '/') : NULL;

	return slash && slash[1] ? slash + 1 : location->object ?: "unknown";
}

static void put_file(struct mf_bytes *label, const struct mf_moment *moment, const struct mf_call *call)
{
	put(label, call->location->file ?: object_of(moment, call->location));
}

/* In massif.out files, "[anonymous pages]" and the like look as functions do, but are in no object. */
static bool is_own_name(const struct mf_location *location)
{
	return location->function && location->function[0] == '[' && !location->file && !location->object;
}

/* Adds " (file:line)" or, without debug information, " (in object)". */
static void put_position(struct mf_bytes *label, const struct mf_moment *moment, const struct mf_call *call,
			 bool with_line)
{
	char line[16];

	if (call->location->note || is_own_name(call->location))
		return;
	put(label, call->location->file ? " (" : " (in ");
	put_file(label, moment, call);
	if (call->location->file && with_line) {
		snprintf(line, sizeof(line), ":%u", call->location->line);
		put(label, line);
	}
	put(label, ")");
}

void mf_sites_add_call(struct mf_bytes *label, const struct mf_moment *moment, const struct mf_call *call)
{
	put_function(label, moment, call);
	put_position(label, moment, call, true);
}

static void label_site(struct mf_bytes *label, const struct mf_moment *moment, const struct mf_moment_stack *stack)
{
	mf_sites_add_call(label, moment, &stack->calls[0]);
}

static void label_function(struct mf_bytes *label, const struct mf_moment *moment, const struct mf_moment_stack *stack)
{
	put_function(label, moment, &stack->calls[0]);
	if (!stack->calls[0].location->file)
		put_position(label, moment, &stack->calls[0], false);
}

static void label_place(struct mf_bytes *label, const struct mf_moment *moment, const struct mf_moment_stack *stack)
{
	put_function(label, moment, &stack->calls[0]);
	put_position(label, moment, &stack->calls[0], false);
}

static void label_file(struct mf_bytes *label, const struct mf_moment *moment, const struct mf_moment_stack *stack)
{
	put(label, stack->calls[0].location->note ?: "");
	if (!stack->calls[0].location->note)
		put_file(label, moment, &stack->calls[0]);
}

static void label_library(struct mf_bytes *label, const struct mf_moment *moment, const struct mf_moment_stack *stack)
{
	put(label, stack->calls[0].location->note ?: object_of(moment, stack->calls[0].location));
}

static void label_stack(struct mf_bytes *label, const struct mf_moment *moment, const struct mf_moment_stack *stack)
{
	for (size_t i = 0; i < stack->n; i++) {
		if (i)
			put(label, " < ");
		if (label->size > LABEL_BYTES_MAX) {
			put(label, "...");
			break;
		}
		put_function(label, moment, &stack->calls[i]);
		put_position(label, moment, &stack->calls[i], !moment->without_lines);
	}
}

static const struct mf_thread_info *thread_of(const struct mf_moment *moment, const struct mf_moment_stack *stack)
{
	static const struct mf_thread_info unknown = { .name = "" };
	const struct mf_profile *profile = moment->profile;

	return profile->threads ? &profile->threads[profile->context_threads[stack->context]] : &unknown;
}

/* @by: with or without its ID. */
static void put_thread(struct mf_bytes *label, const struct mf_thread_info *thread, enum mf_sites_by by)
{
	char tid[32];

	put(label, *thread->name ? thread->name : "(unnamed thread)");
	snprintf(tid, sizeof(tid), " (%" PRIu64 ")", thread->tid);
	if (by == MF_SITES_BY_THREAD && thread->tid)
		put(label, tid);
}

static void label_thread_name(struct mf_bytes *label, const struct mf_moment *moment, const struct mf_moment_stack *stack)
{
	put_thread(label, thread_of(moment, stack), MF_SITES_BY_THREAD_NAME);
}

static void label_thread(struct mf_bytes *label, const struct mf_moment *moment, const struct mf_moment_stack *stack)
{
	put_thread(label, thread_of(moment, stack), MF_SITES_BY_THREAD);
}

const char *const mf_sites_functions[MF_FUNCTIONS] = {
	[MF_FUNCTION_UNKNOWN] = "(not known)",
	[MF_FUNCTION_MALLOC] = "malloc",
	[MF_FUNCTION_CALLOC] = "calloc",
	[MF_FUNCTION_REALLOC] = "realloc",
	[MF_FUNCTION_ALIGNED] = "memalign, aligned_alloc, ...",
	[MF_FUNCTION_NEW] = "operator new",
	[MF_FUNCTION_NEW_ARRAY] = "operator new[]",
	[MF_FUNCTION_OWN] = "(the program's own allocator)",
	[MF_FUNCTION_REQUEST] = "(reported by the program)",
};

static void label_allocator(struct mf_bytes *label, const struct mf_moment *moment, const struct mf_moment_stack *stack)
{
	const uint8_t *functions = moment->profile->functions;

	put(label, mf_sites_functions[functions ? functions[stack->context] : MF_FUNCTION_UNKNOWN]);
}

static void label_process(struct mf_bytes *label, const struct mf_moment *moment, const struct mf_moment_stack *stack)
{
	put(label, moment->process ?: "?");
}

static void (*const labellers[MF_SITES_BYS])(struct mf_bytes *label, const struct mf_moment *moment,
					      const struct mf_moment_stack *stack) = {
	[MF_SITES_BY_SITE] = label_site,
	[MF_SITES_BY_FUNCTION] = label_function,
	[MF_SITES_BY_PLACE] = label_place,
	[MF_SITES_BY_FILE] = label_file,
	[MF_SITES_BY_LIBRARY] = label_library,
	[MF_SITES_BY_STACK] = label_stack,
	[MF_SITES_BY_THREAD] = label_thread,
	[MF_SITES_BY_THREAD_NAME] = label_thread_name,
	[MF_SITES_BY_ALLOCATOR] = label_allocator,
	[MF_SITES_BY_PROCESS] = label_process,
};

void mf_sites_label(struct mf_bytes *label, const struct mf_moment *moment, enum mf_sites_by by,
		    const struct mf_moment_stack *stack)
{
	labellers[by](label, moment, stack);
}

static struct mf_site *new_site(struct mf_sites *sites)
{
	char *label = mf_arena_alloc(&sites->arena, sites->text.size);

	if (!label)
		return NULL;
	if (sites->count == sites->room) {
		size_t room = sites->room ? sites->room * 2 : 256;
		struct mf_site *list = reallocarray(sites->list, room, sizeof(*list));

		if (!list)
			return NULL;
		sites->list = list;
		sites->room = room;
	}
	memcpy(label, sites->text.data, sites->text.size);
	sites->list[sites->count] = (struct mf_site){ .label = label };
	return &sites->list[sites->count++];
}

/* Returns the site whose label is in sites->text, or NULL if out of memory. */
static struct mf_site *find_site(struct mf_sites *sites)
{
	const char *text = (const char *)sites->text.data;
	uint64_t hash = mf_hash_text(text, 0);

	/* Different labels with the same hash are told apart by the second key. */
	for (uint32_t i = 0;; i++) {
		uint32_t *number = mf_index_put(&sites->index, hash, i, (uint32_t)sites->count);

		if (!number)
			return NULL;
		if (*number == sites->count)
			return new_site(sites);
		if (strcmp(sites->list[*number].label, text) == 0)
			return &sites->list[*number];
	}
}

struct addition {
	struct mf_sites *sites;
	const struct mf_moment *moment;
	enum mf_sites_by by;
	unsigned int side;
};

/* Adds a number of a stack to that of a site, or of all. */
static void add_number(uint64_t *numbers, unsigned int value, uint64_t number)
{
	if (value != MF_SITES_LARGEST)
		numbers[value] += number;
	else if (number > numbers[value])
		numbers[value] = number;
}

/* Returns the site whose label is in sites->text, without a NUL, or NULL if out of memory. */
static struct mf_site *site_of_text(struct mf_sites *sites)
{
	mf_bytes_add(&sites->text, "", 1);
	if (sites->text.failed)
		return NULL;
	/* Labels are printed to terminals. */
	mf_printable_clean((char *)sites->text.data);
	sites->text.size = strlen((const char *)sites->text.data) + 1;
	return find_site(sites);
}

/* Adds the bytes of a stack to the site of its first call, unless they have been added to that site already. */
static int add_to_site(const struct addition *addition, const struct mf_moment_stack *stack, struct mf_error *err)
{
	struct mf_sites *sites = addition->sites;
	struct mf_site *site;

	sites->text.size = 0;
	mf_sites_label(&sites->text, addition->moment, addition->by, stack);
	site = site_of_text(sites);
	if (!site)
		return mf_error_set(err, -ENOMEM, "out of memory");
	if (site->last_stack == sites->n_stacks)
		return 0;
	site->last_stack = sites->n_stacks;
	add_number(site->bytes, addition->side, stack->bytes);
	return 0;
}

int mf_sites_add_thread_totals(struct mf_sites *sites, const struct mf_profile *profile, enum mf_sites_by by,
			       struct mf_error *err)
{
	for (size_t i = 0; i < profile->n_thread_totals; i++) {
		const struct mf_thread_total *total = &profile->thread_totals[i];
		uint64_t numbers[MF_SITES_VALUES] = {
			[MF_SITES_ALLOCATIONS] = total->sums.allocations,
			[MF_SITES_ALLOCATED] = total->sums.allocated,
			[MF_SITES_TEMPORARIES] = total->sums.temporaries,
		};
		struct mf_site *site;

		if (!total->sums.allocations)
			continue;
		sites->text.size = 0;
		put_thread(&sites->text, &total->thread, by);
		site = site_of_text(sites);
		if (!site)
			return mf_error_set(err, -ENOMEM, "out of memory");
		for (unsigned int value = MF_SITES_ALLOCATIONS; value <= MF_SITES_TEMPORARIES; value++) {
			add_number(site->bytes, value, numbers[value]);
			add_number(sites->totals, value, numbers[value]);
		}
	}
	return 0;
}

static bool names_all_calls(const struct addition *addition)
{
	return addition->sites->all_calls || addition->by >= MF_SITES_BY_STACK;
}

static int add_stack(void *data, const struct mf_moment_stack *stack, struct mf_error *err)
{
	const struct addition *addition = data;
	bool all_calls = names_all_calls(addition);
	struct mf_moment_stack part = *stack;
	size_t skipped = 0;
	int code;

	if (!all_calls && addition->moment->is_touches)
		skipped = mf_standard_touching_calls(stack->calls, stack->n, addition->moment->options);
	else if (!all_calls)
		skipped = mf_standard_calls(stack->calls, stack->n);
	part.calls += skipped;
	part.n -= skipped;
	addition->sites->n_stacks++;
	add_number(addition->sites->totals, addition->side, stack->bytes);
	code = add_to_site(addition, &part, err);
	while (!code && addition->sites->inclusive && part.n > 1) {
		part.calls++;
		part.n--;
		if (all_calls || !mf_standard_has(part.calls->location))
			code = add_to_site(addition, &part, err);
	}
	return code;
}

int mf_sites_add(struct mf_sites *sites, const struct mf_moment *moment, enum mf_sites_by by, unsigned int side,
		 struct mf_error *err)
{
	struct addition addition = { sites, moment, by, side };

	return mf_moment_each(moment, add_stack, &addition, err);
}

static const enum mf_count counts_of_values[MF_SITES_COUNTS_END] = {
	[MF_SITES_LIVE] = MF_COUNT_LIVE,
	[MF_SITES_ALLOCATIONS] = MF_COUNT_ALLOCATIONS,
	[MF_SITES_ALLOCATED] = MF_COUNT_ALLOCATED,
	[MF_SITES_TEMPORARIES] = MF_COUNT_TEMPORARIES,
};

enum mf_count mf_sites_count_of(unsigned int value)
{
	return counts_of_values[value];
}

/* Each count is added up like the bytes of a snapshot. */
int mf_sites_add_counts(struct mf_sites *sites, const struct mf_moment *moment, enum mf_sites_by by,
			struct mf_error *err)
{
	int code = 0;

	if (!moment->profile->counts)
		return 0;
	for (unsigned int value = MF_SITES_SIDES; value < MF_SITES_COUNTS_END && !code; value++) {
		struct mf_counted counted;

		code = mf_counted_init(&counted, moment, counts_of_values[value], err);
		if (!code)
			code = mf_sites_add(sites, &counted.moment, by, value, err);
		mf_counted_deinit(&counted);
	}
	return code;
}

static int add_counted(struct mf_sites *sites, struct mf_counted *counted, enum mf_sites_by by, unsigned int value,
		       int code, struct mf_error *err)
{
	if (!code)
		code = mf_sites_add(sites, &counted->moment, by, value, err);
	mf_counted_deinit(counted);
	return code;
}

int mf_sites_add_details(struct mf_sites *sites, const struct mf_moment *moment, enum mf_sites_by by,
			 struct mf_error *err)
{
	struct mf_counted counted;
	int code = 0;

	if (moment->snapshot->has_blocks)
		code = add_counted(sites, &counted, by, MF_SITES_BLOCKS, mf_counted_init_blocks(&counted, moment, err), err);
	if (moment->profile->details && !code)
		code = add_counted(sites, &counted, by, MF_SITES_LARGEST, mf_counted_init_largest(&counted, moment, err),
				   err);
	return code;
}

void mf_sites_keep(struct mf_sites *sites, const regex_t *regex)
{
	size_t kept = 0;

	for (size_t i = 0; i < sites->count; i++)
		if (!regex || regexec(regex, sites->list[i].label, 0, NULL, 0) == 0)
			sites->list[kept++] = sites->list[i];
	sites->count = kept;
}

void mf_sites_deinit(struct mf_sites *sites)
{
	free(sites->list);
	mf_index_deinit(&sites->index);
	mf_arena_deinit(&sites->arena);
	mf_bytes_deinit(&sites->text);
	*sites = (struct mf_sites){ 0 };
}
