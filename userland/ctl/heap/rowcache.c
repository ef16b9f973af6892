// SPDX-License-Identifier: GPL-2.0
// Saves unwind rows in the user's cache directory, in one file per object.
//
// massif-ctl writes these files after the program has ended, when nothing is waiting for massif-ctl. If two instances
// write the same file at once, the later one overwrites the rows of the earlier one. The next program that needs the
// lost rows computes them again.

#include "rowcache.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cachedir.h"
#include "base/cleanup.h"
#include "base/errand.h"
#include "base/regular.h"
#include "model/objects.h"
#include "elf/map.h"
#include "cfi/rowfile.h"

/* Minimum number of new rules worth saving for an object: reading a file takes as long as computing about ten rules. */
#define NEW_LEAST 16u

#define PATIENCE_MS 20000 /* time limit for computing the rows of one object */

void mf_rowcache_know_names(const struct mf_options *options)
{
	char path[PATH_MAX];

	if (!options->unwind_cache || !options->symbolizer.inlines)
		return;
	mf_cachedir_locate(path, sizeof(path));
	mf_names_begin_with(options->symbolizer.names, path, options->symbolizer.demangle);
}

static int by_start(const void *a, const void *b)
{
	const struct mf_rowfile_row *one = a, *other = b;

	return (one->start > other->start) - (one->start < other->start);
}

/* Sorts the @n rows of @file, drops those that overlap others, and merges adjacent rows with equal rules. */
static void tidy(struct mf_rowfile *file, uint32_t n)
{
	struct mf_rowfile_row *rows = file->rows;

	qsort(rows, n, sizeof(*rows), by_start);
	file->n_rows = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct mf_rowfile_row *last = file->n_rows ? &rows[file->n_rows - 1] : NULL;

		if (last && rows[i].start < last->end)
			continue;
		if (last && rows[i].start == last->end &&
		    !memcmp(&last->rule, &rows[i].rule, sizeof(last->rule)))
			last->end = rows[i].end;
		else
			rows[file->n_rows++] = rows[i];
	}
}

/*
 * Finds the rows for the @n sorted link-time addresses in @addresses, and stores in @rows those that @old lacks.
 * Returns the number of rows stored.
 */
static uint32_t add_rows(const struct mf_elf_map *map, const struct mf_rowfile *old,
			 const uint64_t *addresses, size_t n, struct mf_rowfile_row *rows)
{
	uint64_t end = 0; /* end of the last row found */
	uint32_t added = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t address = (uint32_t)addresses[i];
		struct mf_row row;

		if (address < end || (old && mf_rowfile_find(old, address)))
			continue;
		row = mf_rows_find(&map->object, address + map->bias);
		if (!mf_rowfile_holds(&row.rule))
			continue;
		end = row.end - map->bias;
		/*
		 * Wrong unwind tables may yield rows with bad bounds. Skip these, because one would invalidate the
		 * whole file.
		 */
		if (row.start < map->bias || row.end <= row.start || end >> 32)
			continue;
		rows[added++] = (struct mf_rowfile_row){
			.start = (uint32_t)(row.start - map->bias),
			.end = (uint32_t)end,
			.rule = row.rule,
		};
	}
	return added;
}

/* Argument of learn(): what to add to the row file of one object. */
struct lesson {
	const struct mf_object *object;
	/* the object's row file, which contains the unwind rows from earlier runs; NULL if there is none */
	const struct mf_rowfile *old;
	/*
	 * code addresses for which no unwind row was cached: the link-time address in the low 32 bits of each element,
	 * and the object's number in the high 32 bits
	 */
	const uint64_t *addresses;
	size_t n;
	bool searched; /* the object's code was also searched for client requests */
};

/*
 * Builds, in an unprivileged child process, the new contents of an object's row file, which contains cached unwind
 * rows. Returns the contents, or NULL if there is nothing new.
 */
static void *learn(void *data, int fd, size_t *size)
{
	const struct lesson *lesson = data;
	const struct mf_object *object = lesson->object;
	const struct mf_rowfile *old = lesson->old;
	uint32_t kept = old ? old->n_rows : 0, added;
	struct mf_rowfile *made;
	struct mf_elf_map map;

	if (mf_elf_map_read(&map, object, fd))
		return NULL;
	made = malloc(mf_rowfile_size(kept + (uint32_t)lesson->n));
	if (!made)
		return NULL;
	mf_rowfile_init(made, object->build_id, object->build_id_size);
	made->searched_bytes = old ? old->searched_bytes : 0;
	if (old)
		memcpy(made->rows, old->rows, kept * sizeof(*old->rows));
	if (lesson->searched && !made->searched_bytes)
		made->searched_bytes = mf_elf_map_search(&map);
	added = add_rows(&map, old, lesson->addresses, lesson->n, made->rows + kept);
	tidy(made, kept + added);
	if (made->n_rows > MF_ROWFILE_ROWS_MAX) {
		/* The file is full: drop the new rows and keep the old ones. */
		made->n_rows = kept;
		if (old)
			memcpy(made->rows, old->rows, kept * sizeof(*made->rows));
		added = 0;
	}
	mf_rowfile_seal(made);
	*size = mf_rowfile_size(made->n_rows);
	return added || made->searched_bytes != (old ? old->searched_bytes : 0) ? made : NULL;
}

static void learn_object(struct lesson *lesson, int directory)
{
	const struct mf_object *object = lesson->object;
	mf_auto_close int fd = mf_regular_open(object->path);
	const struct mf_errand errand = {
		.run = learn,
		.data = lesson,
		.file = fd,
		.bytes_max = mf_rowfile_size(MF_ROWFILE_ROWS_MAX),
		.patience_ms = PATIENCE_MS,
	};
	mf_auto_free uint8_t *made = NULL;
	char name[MF_ROWFILE_NAME_SIZE];
	struct mf_rowfile *old;
	size_t old_size;
	int64_t size;

	if (fd < 0 || !mf_cachedir_may_keep_from(fd))
		return;
	mf_rowfile_name(name, object->build_id, object->build_id_size);
	old = mf_rowfile_read(directory, name, object->build_id, object->build_id_size, &old_size);
	lesson->old = old;
	size = mf_errand_run(&errand, &made);
	if (size > 0 && mf_rowfile_is_right((const struct mf_rowfile *)made, (size_t)size, object->build_id,
					    object->build_id_size))
		mf_cachedir_write(directory, name, made, (size_t)size);
	if (old)
		munmap(old, old_size);
}

static int by_value(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one > other) - (one < other);
}

/* Sorts the @n numbers and removes duplicates. Returns how many remain. */
static size_t sort(uint64_t *numbers, size_t n)
{
	size_t kept = 0;

	qsort(numbers, n, sizeof(*numbers), by_value);
	for (size_t i = 0; i < n; i++)
		if (!kept || numbers[i] != numbers[kept - 1])
			numbers[kept++] = numbers[i];
	return kept;
}

void mf_rowcache_learn(const struct mf_store *store, const char *path)
{
	uint32_t n = __atomic_load_n(&store->header->n_new_rules, __ATOMIC_RELAXED);
	mf_auto_close int directory = -1;
	mf_auto_free uint64_t *addresses = NULL;
	struct mf_object object;

	if (!n || !path[0])
		return;
	if (n > store->sizes[MF_REGION_NEW_RULES] / sizeof(*addresses))
		n = (uint32_t)(store->sizes[MF_REGION_NEW_RULES] / sizeof(*addresses));
	addresses = malloc(n * sizeof(*addresses));
	if (!addresses)
		return;
	memcpy(addresses, store->regions[MF_REGION_NEW_RULES], n * sizeof(*addresses));
	n = (uint32_t)sort(addresses, n);
	for (size_t i = 0, end; i < n; i = end) {
		uint32_t number = (uint32_t)(addresses[i] >> 32);
		bool searched;

		for (end = i; end < n && addresses[end] >> 32 == number;)
			end++;
		searched = (uint32_t)addresses[end - 1] == MF_NEW_RULE_SEARCHED;
		if ((end - i < NEW_LEAST && !searched) || !mf_objects_read(store, number, &object) ||
		    object.kind != MF_OBJECT_FILE || object.build_id_size < MF_ROWFILE_ID_LEAST)
			continue;
		if (directory < 0)
			directory = mf_cachedir_make(path);
		if (directory < 0)
			return;
		learn_object(&(struct lesson){
			.object = &object,
			.addresses = addresses + i,
			.n = end - i - searched,
			.searched = searched,
		}, directory);
	}
}
