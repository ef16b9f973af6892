// SPDX-License-Identifier: GPL-2.0
// The parts of an ELF file that unwinding needs, in one contiguous block.

#include "summary.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC 0x31666c656673616dull /* "masfelf1" */

_Static_assert(sizeof(struct mf_elf_summary) % 8 == 0, "the segments behind it are aligned");

/* The offsets of a summary's parts and its total size, derived from the numbers in its header. */
struct layout {
	uint64_t segments, entries[MF_CFI_TABLES], rules, size;
};

static struct layout layout_of(const struct mf_elf_summary *summary)
{
	struct layout layout = { .segments = sizeof(*summary) };
	uint64_t at = layout.segments + summary->n_segments * sizeof(struct mf_elf_segment);

	for (int i = 0; i < MF_CFI_TABLES; i++) {
		layout.entries[i] = at;
		at += summary->n_entries[i] * sizeof(struct mf_cfi_entry);
	}
	layout.rules = at;
	layout.size = at + summary->rules_bytes;
	return layout;
}

static void copy(uint8_t *to, const void *bytes, size_t size)
{
	if (size)
		memcpy(to, bytes, size);
}

struct mf_elf_summary *mf_elf_summary_make(struct mf_elf_file *binary, size_t *size)
{
	const struct mf_cfi *cfi = binary ? mf_elf_file_cfi(binary) : NULL;
	struct mf_elf_summary head = { .magic = MAGIC, .is_elf = binary != NULL }, *made;
	struct mf_elf_segment segments[MF_ELF_SEGMENTS_MAX];
	struct mf_object object = { 0 };
	struct layout layout;
	uint8_t *bytes;

	if (binary) {
		head.entry = mf_elf_file_entry(binary);
		mf_elf_file_build_id(binary, &object);
		memcpy(head.build_id, object.build_id, sizeof(head.build_id));
		head.build_id_size = object.build_id_size;
		while (mf_elf_file_segment(binary, head.n_segments, &segments[head.n_segments]))
			if (++head.n_segments == MF_ELF_SEGMENTS_MAX)
				break;
	}
	if (cfi) {
		head.base = cfi->base;
		memcpy(head.n_entries, cfi->n_entries, sizeof(head.n_entries));
		head.rules_bytes = cfi->size;
	}
	layout = layout_of(&head);
	made = malloc(layout.size);
	if (!made)
		return NULL;
	bytes = (uint8_t *)made;
	*made = head;
	copy(bytes + layout.segments, segments, head.n_segments * sizeof(segments[0]));
	for (int i = 0; cfi && i < MF_CFI_TABLES; i++)
		copy(bytes + layout.entries[i], cfi->entries[i], cfi->n_entries[i] * sizeof(struct mf_cfi_entry));
	if (cfi)
		copy(bytes + layout.rules, cfi->rules, cfi->size);
	*size = layout.size;
	return made;
}

static bool is_sorted(const struct mf_cfi_entry *entries, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (entries[i].start < entries[i - 1].start)
			return false;
	return true;
}

bool mf_elf_summary_is_sound(const struct mf_elf_summary *summary, size_t size)
{
	struct mf_cfi cfi;

	if (size < sizeof(*summary) || summary->magic != MAGIC || summary->n_segments > MF_ELF_SEGMENTS_MAX ||
	    summary->rules_bytes % 8 || summary->build_id_size > MF_BUILD_ID_MAX ||
	    layout_of(summary).size != size)
		return false;
	cfi = mf_elf_summary_cfi(summary);
	return is_sorted(cfi.entries[MF_CFI_LISTED], cfi.n_entries[MF_CFI_LISTED]) &&
	       is_sorted(cfi.entries[MF_CFI_OTHER], cfi.n_entries[MF_CFI_OTHER]);
}

struct mf_cfi mf_elf_summary_cfi(const struct mf_elf_summary *summary)
{
	struct layout layout = layout_of(summary);
	const uint8_t *bytes = (const uint8_t *)summary;
	struct mf_cfi cfi = { .base = summary->base, .rules = bytes + layout.rules, .size = summary->rules_bytes };

	for (int i = 0; i < MF_CFI_TABLES; i++) {
		cfi.entries[i] = (const struct mf_cfi_entry *)(const void *)(bytes + layout.entries[i]);
		cfi.n_entries[i] = summary->n_entries[i];
	}
	return cfi;
}

bool mf_elf_summary_address(const struct mf_elf_summary *summary, uint64_t offset, uint64_t *address)
{
	const struct mf_elf_segment *segments =
		(const struct mf_elf_segment *)(const void *)((const uint8_t *)summary + sizeof(*summary));

	for (uint32_t i = 0; i < summary->n_segments; i++) {
		if (offset < segments[i].offset || offset - segments[i].offset >= segments[i].size)
			continue;
		*address = segments[i].address + (offset - segments[i].offset);
		return true;
	}
	return false;
}
