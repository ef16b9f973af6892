// SPDX-License-Identifier: GPL-2.0
// Caches unwind rules that earlier runs found.

#include "rowcache.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "model/objects.h"
#include "cfi/rowfile.h"

#define OBJECTS_MAX 256u

struct known {
	uint64_t start, end, bias;
	uint32_t object;
	const struct mf_rowfile *file; /* the file with the object's unwind rules, or NULL if there is none yet */
};

static struct known known[OBJECTS_MAX];
static uint32_t n_known; /* number of complete entries in @known; accessed atomically */
/*
 * Session memory in which new findings (unwind rules, and objects without client requests) are recorded. NULL if they
 * are not recorded.
 */
static struct mf_store *notes;

static void open_file(int directory, uint32_t number, const struct mf_object *object)
{
	struct known *next = &known[n_known];
	char name[MF_ROWFILE_NAME_SIZE];
	size_t size;

	mf_rowfile_name(name, object->build_id, object->build_id_size);
	*next = (struct known){
		.start = object->start,
		.end = object->end,
		.bias = object->bias,
		.object = number,
		.file = directory < 0 ? NULL :
					mf_rowfile_read(directory, name, object->build_id,
							object->build_id_size, &size),
	};
	__atomic_store_n(&n_known, n_known + 1, __ATOMIC_RELEASE);
}

void mf_rowcache_open(struct mf_store *store)
{
	const char *path = store->header->rows_directory;
	int saved = errno, directory;
	struct mf_object object;

	if (!path[0])
		return;
	notes = store;
	directory = (int)syscall(SYS_openat, AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (uint32_t i = 1; i < store->header->n_objects && n_known < OBJECTS_MAX; i++) {
		if (mf_objects_read(store, i, &object) && object.kind == MF_OBJECT_FILE &&
		    object.build_id_size >= MF_ROWFILE_ID_LEAST)
			open_file(directory, i, &object);
	}
	if (directory >= 0)
		syscall(SYS_close, directory);
	errno = saved;
}

/*
 * Returns the object that contains @pc. All objects in @known were loaded together at startup, so their addresses do
 * not overlap.
 */
static const struct known *find_known(uint64_t pc)
{
	uint32_t n = __atomic_load_n(&n_known, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n; i++)
		if (pc - known[i].start < known[i].end - known[i].start)
			return mf_objects_record(notes, known[i].object)->retired ? NULL : &known[i];
	return NULL;
}

bool mf_rowcache_find(uint64_t pc, struct mf_cfi_rule *rule)
{
	const struct known *object = find_known(pc);
	const struct mf_cfi_rule *found = NULL;

	if (object && object->file)
		found = mf_rowfile_find(object->file, pc - object->bias);
	if (found)
		*rule = *found;
	return found;
}

static void note(const struct known *object, uint32_t what)
{
	uint64_t *notes_of_all = notes->regions[MF_REGION_NEW_RULES];
	uint32_t n = __atomic_fetch_add(&notes->header->n_new_rules, 1, __ATOMIC_RELAXED);

	if (mf_store_fits(notes, MF_REGION_NEW_RULES, n, sizeof(*notes_of_all)))
		notes_of_all[n] = (uint64_t)object->object << 32 | what;
}

void mf_rowcache_note(uint64_t pc, const struct mf_cfi_rule *rule)
{
	const struct known *object = find_known(pc);

	if (object && mf_rowfile_holds(rule) && pc - object->bias < MF_NEW_RULE_SEARCHED)
		note(object, (uint32_t)(pc - object->bias));
}

bool mf_rowcache_has_no_request(uint64_t address, uint64_t bytes)
{
	const struct known *object = find_known(address);

	return object && object->file && bytes && object->file->searched_bytes == bytes;
}

void mf_rowcache_note_searched(uint64_t address)
{
	const struct known *object = find_known(address);

	if (object)
		note(object, MF_NEW_RULE_SEARCHED);
}
