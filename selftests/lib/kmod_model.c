// SPDX-License-Identifier: GPL-2.0
// Replays records into sets of intervals and checks every total, independently of massif-ctl.
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "selftests/lib/kmod_model.h"

#define PAGE	4096

static void *grown(void *at, size_t count, size_t *space, size_t size)
{
	if (count < *space)
		return at;
	*space = *space ? *space * 2 : 16;
	at = reallocarray(at, *space, size);
	if (!at)
		abort();
	return at;
}

static void append(struct kmod_intervals *map, uint64_t start, uint64_t end)
{
	if (start >= end)
		return;
	map->at = grown(map->at, map->count, &map->space, sizeof(*map->at));
	map->at[map->count++] = (struct kmod_interval){ start, end };
	map->pages += (end - start) / PAGE;
}

void kmod_intervals_destroy(struct kmod_intervals *map)
{
	free(map->at);
	*map = (struct kmod_intervals){ 0 };
}

/* Returns the first interval whose end is above @address. */
static size_t find(const struct kmod_intervals *map, uint64_t address)
{
	size_t low = 0, high = map->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (map->at[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Marks [start, end) as free or mapped. */
static void set(struct kmod_intervals *map, uint64_t start, uint64_t end, bool mapped)
{
	struct kmod_interval parts[3];
	size_t first = find(map, start), last = first, n = 0, i;

	if (start >= end)
		return;
	while (last < map->count && map->at[last].start < end)
		last++;
	if (first < last && map->at[first].start < start)
		parts[n++] = (struct kmod_interval){ map->at[first].start, start };
	if (mapped)
		parts[n++] = (struct kmod_interval){ start, end };
	if (first < last && map->at[last - 1].end > end)
		parts[n++] = (struct kmod_interval){ end, map->at[last - 1].end };

	for (i = first; i < last; i++)
		map->pages -= (map->at[i].end - map->at[i].start) / PAGE;
	for (i = 0; i < n; i++)
		map->pages += (parts[i].end - parts[i].start) / PAGE;
	/* Marking a range as free or mapped adds at most two intervals to the map. */
	map->at = grown(map->at, map->count + 2, &map->space, sizeof(*map->at));
	memmove(map->at + first + n, map->at + last, (map->count - last) * sizeof(*map->at));
	memcpy(map->at + first, parts, n * sizeof(*parts));
	map->count += n - (last - first);
}

uint64_t kmod_intervals_pages(const struct kmod_intervals *map)
{
	return map->pages;
}

/* Returns the end of the run of adjacent intervals that begins with interval *i, and advances *i past this run. */
static uint64_t run_end(const struct kmod_intervals *map, size_t *i)
{
	uint64_t end = map->at[(*i)++].end;

	while (*i < map->count && map->at[*i].start == end)
		end = map->at[(*i)++].end;
	return end;
}

bool kmod_intervals_equal(const struct kmod_intervals *a, const struct kmod_intervals *b)
{
	size_t i = 0, j = 0;

	while (i < a->count && j < b->count) {
		if (a->at[i].start != b->at[j].start)
			return false;
		if (run_end(a, &i) != run_end(b, &j))
			return false;
	}
	return i == a->count && j == b->count;
}

int kmod_intervals_read(struct kmod_intervals *map, const char *path)
{
	FILE *file = fopen(path, "r");
	uint64_t start, end;
	char line[8192];

	if (!file)
		return -errno;
	*map = (struct kmod_intervals){ 0 };
	while (fgets(line, sizeof(line), file))
		/* [vsyscall] is a mapping of the kernel, not of the process. */
		if (!strstr(line, "[vsyscall]") &&
		    sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2)
			append(map, start, end);
	fclose(file);
	return 0;
}

void kmod_model_init(struct kmod_model *model)
{
	memset(model, 0, sizeof(*model));
}

void kmod_model_destroy(struct kmod_model *model)
{
	size_t i;

	for (i = 0; i < model->count; i++) {
		kmod_intervals_destroy(&model->targets[i].map);
		kmod_intervals_destroy(&model->targets[i].part);
	}
	free(model->targets);
	free(model->by_id);
	kmod_model_init(model);
}

struct kmod_target *kmod_model_target(struct kmod_model *model, uint32_t id)
{
	return id < model->ids && model->by_id[id] ? &model->targets[model->by_id[id] - 1] : NULL;
}

struct kmod_target *kmod_model_find(struct kmod_model *model, uint32_t tgid, uint32_t execs)
{
	size_t i;

	for (i = 0; i < model->count; i++)
		if (model->targets[i].tgid == tgid && model->targets[i].execs == execs)
			return &model->targets[i];
	return NULL;
}

__attribute__((format(printf, 3, 4)))
static void wrong(struct kmod_model *model, const struct massif_record *rec,
		  const char *format, ...)
{
	va_list args;
	int used;

	if (model->wrong++)
		return;
	used = snprintf(model->first_wrong, sizeof(model->first_wrong),
			"seq %llu type %u target %u tid %u: ", (unsigned long long)rec->seq,
			rec->type, rec->target, rec->tid);
	va_start(args, format);
	vsnprintf(model->first_wrong + used, sizeof(model->first_wrong) - used, format, args);
	va_end(args);
}

static void add(struct kmod_model *model, uint32_t id, uint32_t tgid, uint32_t execs)
{
	model->targets = grown(model->targets, model->count, &model->space,
			       sizeof(*model->targets));
	model->targets[model->count++] = (struct kmod_target){
		.id = id, .tgid = tgid, .execs = execs,
	};
	/*
	 * Enlarge the id lookup table for targets in large steps, because a test can have tens of thousands of targets.
	 * The table exists because every record has to look up its target.
	 */
	while (id >= model->ids) {
		size_t had = model->ids;

		model->by_id = grown(model->by_id, had, &model->ids, sizeof(*model->by_id));
		memset(model->by_id + had, 0, (model->ids - had) * sizeof(*model->by_id));
	}
	model->by_id[id] = model->count;
}

static void compare(struct kmod_model *model, const struct massif_record *rec,
		    struct kmod_target *target)
{
	uint64_t pages = kmod_intervals_pages(&target->map);

	if (!target->synced)
		return;
	if (rec->flags & MASSIF_RF_NO_TOTAL) {
		model->unsure++;
		return;
	}
	target->compared++;
	if (pages != rec->total_vm)
		wrong(model, rec, "replay has %" PRIu64 " pages, total_vm %llu", pages,
		      (unsigned long long)rec->total_vm);
}

static void on_exec(struct kmod_model *model, const struct massif_rec_exec *rec)
{
	uint32_t execs = 1;
	size_t i;

	for (i = 0; i < model->count; i++)
		if (model->targets[i].tgid == rec->tgid && model->targets[i].execs >= execs)
			execs = model->targets[i].execs + 1;
	add(model, rec->h.target, rec->tgid, execs);
}

static void on_change(struct kmod_model *model, const struct massif_rec_map *rec,
		      struct kmod_target *target)
{
	bool map = rec->h.type == MASSIF_REC_MAP;

	if (rec->len % PAGE || rec->addr % PAGE || !rec->len)
		wrong(model, &rec->h, "odd range");
	if (!target->first)
		return;
	target->maps += map;
	set(&target->map, rec->addr, rec->addr + rec->len, map);
	compare(model, &rec->h, target);
}

static void on_resync(struct kmod_model *model, const struct massif_rec_resync *rec,
		      struct kmod_target *target)
{
	size_t i;

	if (rec->h.type == MASSIF_REC_RESYNC_BEGIN) {
		kmod_intervals_destroy(&target->part);
		if (rec->part & MASSIF_RESYNC_FIRST)
			target->first = true;
		return;
	}
	if (target->part.count != rec->count)
		wrong(model, &rec->h, "%zu VMA records, said to be %u", target->part.count,
		      rec->count);
	set(&target->map, rec->start, rec->end, false);
	for (i = 0; i < target->part.count; i++)
		set(&target->map, target->part.at[i].start, target->part.at[i].end, true);
	if (rec->part & MASSIF_RESYNC_LAST) {
		target->synced = true;
		compare(model, &rec->h, target);
	}
}

/*
 * The total number of resident pages in a record is the sum of all changes, except in BASE records, which correct the
 * total.
 */
static void on_resident(struct kmod_model *model, const struct massif_rec_resident *rec,
			struct kmod_target *target)
{
	bool puts_right = rec->cause == MASSIF_RESIDENT_BASE || rec->cause == MASSIF_RESIDENT_DRIFT;
	int i;

	model->resident++;
	for (i = 0; i < MASSIF_RSS_COUNT; i++) {
		int64_t expected = target->resident[i] + rec->change[i], told = (int64_t)rec->rss[i];

		if (rec->cause == MASSIF_RESIDENT_BASE) {
			if (target->resident_told)
				model->drifted += (uint64_t)llabs(told - target->resident[i]);
			expected = told;
		} else if (rec->cause == MASSIF_RESIDENT_DRIFT) {
			model->drifted += (uint64_t)llabs(rec->change[i]);
		}
		if (target->resident_told && told != (expected > 0 ? expected : 0))
			wrong(model, &rec->h, "replay has %" PRId64 " resident pages of kind %d, rss %" PRId64,
			      expected, i, told);
		target->resident[i] = target->resident_told && !puts_right ? expected : told;
	}
	target->resident_told = true;
}

static void on_lost(struct kmod_model *model, const struct massif_rec_lost *rec)
{
	size_t i;

	model->lost += rec->count;
	/*
	 * MASSIF_LOST_MEMORY means that a child could not be followed. The records of the target itself are complete.
	 */
	if (rec->reason == MASSIF_LOST_MEMORY)
		return;
	for (i = 0; i < model->count; i++)
		if (!rec->h.target || rec->h.target == model->targets[i].id)
			model->targets[i].synced = model->targets[i].resident_told = false;
}

int kmod_model_apply(const struct massif_record *rec, void *arg)
{
	struct kmod_model *model = arg;
	struct kmod_target *target = kmod_model_target(model, rec->target);

	model->records[rec->type % 32]++;
	if (rec->seq <= model->last_seq)
		wrong(model, rec, "after seq %" PRIu64, model->last_seq);
	model->gaps += rec->seq - model->last_seq - 1;
	model->last_seq = rec->seq;

	switch (rec->type) {
	case MASSIF_REC_ENROL:
	case MASSIF_REC_ATTACH:
		add(model, rec->target, ((const struct massif_rec_enrol *)rec)->tgid, 0);
		return 0;
	case MASSIF_REC_FORK: {
		const struct massif_rec_fork *fork = (const void *)rec;

		if (fork->child != rec->target)
			add(model, fork->child, fork->child_tgid, 0);
		return 0;
	}
	case MASSIF_REC_EXEC:
		on_exec(model, (const void *)rec);
		return 0;
	case MASSIF_REC_LOST:
		on_lost(model, (const void *)rec);
		return 0;
	case MASSIF_REC_END:
	case MASSIF_REC_STACK:
	case MASSIF_REC_NAME:
	case MASSIF_REC_ARGS:
	/* A MOVE record only says that resident pages have moved between mappings that are already known. */
	case MASSIF_REC_MOVE:
		return 0;
	}

	if (!target || target->exited) {
		wrong(model, rec, target ? "after the EXIT of its target" : "no such target");
		return 0;
	}
	switch (rec->type) {
	case MASSIF_REC_MAP:
	case MASSIF_REC_UNMAP:
		on_change(model, (const void *)rec, target);
		break;
	case MASSIF_REC_RESYNC_BEGIN:
	case MASSIF_REC_RESYNC_END:
		on_resync(model, (const void *)rec, target);
		break;
	case MASSIF_REC_VMA: {
		const struct massif_rec_vma *vma = (const void *)rec;

		append(&target->part, vma->addr, vma->addr + vma->len);
		break;
	}
	case MASSIF_REC_RESIDENT:
		on_resident(model, (const void *)rec, target);
		break;
	case MASSIF_REC_EXIT:
		target->exited = true;
		target->exit_total = rec->total_vm;
		compare(model, rec, target);
		break;
	default:
		wrong(model, rec, "unknown type");
	}
	return 0;
}
