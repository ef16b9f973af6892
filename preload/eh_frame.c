// SPDX-License-Identifier: GPL-2.0
// The unwind tables of objects that have no sorted index of them.
//
// The tables are in memory, but only a section header tells where, and those are in the file. So the file is read
// when such an object comes; few programs have any.

#include "eh_frame.h"

#include "object_file.h"

#define OBJECTS_MAX 64u

/* An object, and the segment that its tables are in. @end: 0 once it has gone. */
struct known {
	uint64_t start, end;
	struct mf_rows_object rows;
};

static struct known known[OBJECTS_MAX];
static uint32_t n_known; /* atomic: those are complete */

static bool has_index(const struct dl_phdr_info *object)
{
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			return true;
	return false;
}

/* Where the section is in memory; everything that it refers to is in the same segment. */
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

/* What was there has gone. */
static void forget_between(uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < n_known; i++)
		if (known[i].start < end && start < known[i].end)
			__atomic_store_n(&known[i].end, 0, __ATOMIC_RELAXED);
}

static void enter(uint64_t start, uint64_t end, const struct mf_rows_object *rows)
{
	uint32_t i = 0;

	while (i < n_known && known[i].end)
		i++;
	if (i == OBJECTS_MAX)
		return;
	known[i].start = start;
	known[i].rows = *rows;
	__atomic_store_n(&known[i].end, end, __ATOMIC_RELEASE);
	if (i == n_known)
		__atomic_store_n(&n_known, n_known + 1, __ATOMIC_RELEASE);
}

void mf_eh_frame_arrived(const struct dl_phdr_info *object, uint64_t start, uint64_t end, bool may_open)
{
	struct mf_object_file file;
	struct mf_rows_object rows;
	const ElfW(Shdr) *section;

	forget_between(start, end);
	if (has_index(object) || !may_open || !mf_object_file_open(&file, object))
		return;
	section = mf_object_file_section(&file, ".eh_frame");
	if (section && find_tables(object, section, &rows))
		enter(start, end, &rows);
	mf_object_file_close(&file);
}

bool mf_eh_frame_find(uint64_t pc, struct mf_rows_object *object)
{
	uint32_t n = __atomic_load_n(&n_known, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n; i++) {
		if (pc >= __atomic_load_n(&known[i].end, __ATOMIC_ACQUIRE) || pc < known[i].start)
			continue;
		*object = known[i].rows;
		return true;
	}
	return false;
}
