// SPDX-License-Identifier: GPL-2.0
// Finds the unwind tables of objects that have no sorted index of these tables.
//
// The tables are in memory, but their address is recorded only in a section header, and section headers are not mapped.
// So the file of such an object is read when the object is loaded. Such objects are rare.
//
// If the C library lacks _dl_find_object(), objects with an index are kept in the same table: dl_iterate_phdr() would take
// the dynamic linker's lock, which an allocation must not do (see core/objects.c).

#include "eh_frame.h"

#include <stddef.h>
#include <sys/mman.h>

#include "core/libc.h"
#include "core/object_file.h"
#include "core/own_memory.h"

/*
 * An object, usually without a sorted index, and the segment with its unwind tables. @end is atomic, and 0 if this entry is
 * unused or the object was unloaded.
 */
struct known {
	uint64_t start, end;
	struct mf_rows_object rows;
};

/*
 * A group of entries for objects. @next is the next group and is accessed atomically. More groups are mapped when
 * needed. They are never unmapped, since readers take no lock.
 */
struct group {
	struct known known[64];
	struct group *next;
};

#define GROUP_SIZE (sizeof(((struct group *)0)->known) / sizeof(struct known))

static struct group first_group;

/* Returns the program header of the sorted index, or NULL if there is none. */
static const ElfW(Phdr) *find_index(const struct dl_phdr_info *object)
{
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			return &object->dlpi_phdr[i];
	return NULL;
}

/* Returns the index, with the bounds of its segment, as mf_cfi_object() does. */
static struct mf_rows_object describe_index(const struct dl_phdr_info *object, const ElfW(Phdr) *index)
{
	struct mf_rows_object rows = { .header = (const void *)(object->dlpi_addr + index->p_vaddr) };

	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD || index->p_vaddr - segment->p_vaddr >= segment->p_filesz)
			continue;
		rows.start = (const uint8_t *)(object->dlpi_addr + segment->p_vaddr);
		rows.end = rows.start + segment->p_filesz;
	}
	return rows;
}

/*
 * Finds @section in memory. Also stores the bounds of its segment, because the section refers only to data in that
 * segment.
 */
static bool find_tables(const struct dl_phdr_info *object, const ElfW(Shdr) *section, struct mf_rows_object *rows)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		uint64_t at = section->sh_addr - segment->p_vaddr;
		const uint8_t *start = (const uint8_t *)(object->dlpi_addr + segment->p_vaddr);

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_R) || at >= segment->p_filesz ||
		    section->sh_size > segment->p_filesz - at)
			continue;
		*rows = (struct mf_rows_object){
			.start = start,
			.end = start + segment->p_filesz,
			.frames = start + at,
			.frames_size = section->sh_size,
		};
		return true;
	}
	return false;
}

static struct group *next_of(const struct group *group)
{
	return __atomic_load_n(&group->next, __ATOMIC_ACQUIRE);
}

void mf_eh_frame_gone(uint64_t start, uint64_t end)
{
	for (struct group *group = &first_group; group; group = next_of(group))
		for (size_t i = 0; i < GROUP_SIZE; i++)
			if (group->known[i].start < end && start < group->known[i].end)
				__atomic_store_n(&group->known[i].end, 0, __ATOMIC_RELAXED);
}

/* Returns an unused entry for an object without a sorted index, or NULL if there is no memory for more entries. */
static struct known *find_free(void)
{
	struct group *group = &first_group;

	for (;; group = group->next) {
		for (size_t i = 0; i < GROUP_SIZE; i++)
			if (!group->known[i].end)
				return &group->known[i];
		if (!group->next) {
			struct group *more = mmap(NULL, sizeof(*more), PROT_READ | PROT_WRITE,
						  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			if (more == MAP_FAILED)
				return NULL;
			mf_own_memory_note(more, sizeof(*more));
			__atomic_store_n(&group->next, more, __ATOMIC_RELEASE);
		}
	}
}

static void enter(uint64_t start, uint64_t end, const struct mf_rows_object *rows)
{
	struct known *entry = find_free();

	if (!entry)
		return;
	entry->start = start;
	entry->rows = *rows;
	__atomic_store_n(&entry->end, end, __ATOMIC_RELEASE);
}

void mf_eh_frame_arrived(const struct dl_phdr_info *object, uint64_t start, uint64_t end, bool may_open)
{
	struct mf_object_file file;
	struct mf_rows_object rows;
	const ElfW(Phdr) *index = find_index(object);
	const ElfW(Shdr) *section;

	mf_eh_frame_gone(start, end);
	if (index && !mf_libc_has_find_object) {
		rows = describe_index(object, index);
		if (rows.start)
			enter(start, end, &rows);
	}
	if (index || !may_open || !mf_object_file_open(&file, object))
		return;
	section = mf_object_file_section(&file, ".eh_frame");
	if (section && find_tables(object, section, &rows))
		enter(start, end, &rows);
	mf_object_file_close(&file);
}

bool mf_eh_frame_find(uint64_t pc, struct mf_rows_object *object)
{
	for (struct group *group = &first_group; group; group = next_of(group)) {
		for (size_t i = 0; i < GROUP_SIZE; i++) {
			const struct known *entry = &group->known[i];

			if (pc >= __atomic_load_n(&entry->end, __ATOMIC_ACQUIRE) || pc < entry->start)
				continue;
			*object = entry->rows;
			return true;
		}
	}
	return false;
}
