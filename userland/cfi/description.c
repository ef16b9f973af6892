// SPDX-License-Identifier: GPL-2.0
// Finds the .eh_frame entry (FDE) that describes a code address: in the sorted table of .eh_frame_hdr or by a linear
// search. The format is specified in the Linux Standard Base, chapter "Exception Frames".

#include "description.h"

#include <dwarf.h>
#include <string.h>

/* The encoding that all linkers use for the sorted table in .eh_frame_hdr. */
#define ENCODING_TABLE (DW_EH_PE_datarel | DW_EH_PE_sdata4)

/* Returns the @size bytes at @at, limited to those that lie within @object, because its tables may be damaged. */
static struct mf_dwarf bytes_in(const struct mf_rows_object *object, const uint8_t *at, uint64_t size)
{
	if (at < object->start || at > object->end)
		at = object->end;
	if (size > (uint64_t)(object->end - at))
		size = (uint64_t)(object->end - at);
	return (struct mf_dwarf){ .at = at, .end = at + size };
}

/* Returns the contents of the entry at @at, without its length field; empty if its format is unknown. */
static struct mf_dwarf read_entry(const struct mf_rows_object *object, const uint8_t *at)
{
	struct mf_dwarf cursor = bytes_in(object, at, 4);
	uint64_t length = mf_dwarf_fixed(&cursor, 4);

	return bytes_in(object, cursor.at, length == 0xffffffff ? 0 : length);
}

static bool read_cie(const struct mf_rows_object *object, const uint8_t *at, struct mf_cie *cie)
{
	struct mf_dwarf entry = read_entry(object, at);

	return entry.at < entry.end && mf_dwarf_fixed(&entry, 4) == 0 && mf_cie_read(entry, cie) &&
	       cie->return_register == MF_DWARF_RA;
}

/*
 * Searches the sorted table of .eh_frame_hdr for the last FDE whose code begins at or before @pc. Returns
 * MF_DESCRIPTION_FOUND and sets *@fde; MF_DESCRIPTION_NONE if there is no such FDE; or MF_DESCRIPTION_UNKNOWN if the
 * table's format is unsupported.
 */
static enum mf_description_found search_table(const struct mf_rows_object *object, uint64_t pc,
				     const uint8_t **fde)
{
	const uint8_t *header = object->header;
	struct mf_dwarf cursor = bytes_in(object, header, UINT64_MAX);
	int64_t wanted = (int64_t)(pc - (uint64_t)(uintptr_t)header);
	struct {
		int32_t location, fde;
	} entry;
	uint64_t count, low = 0, high;

	if (cursor.end - cursor.at < 4 || header[0] != 1 || header[2] == DW_EH_PE_omit ||
	    header[3] != ENCODING_TABLE)
		return MF_DESCRIPTION_UNKNOWN;
	cursor.at += 4;
	mf_dwarf_encoded(&cursor, header[1]);
	count = mf_dwarf_encoded(&cursor, header[2]);
	if (count > (uint64_t)(cursor.end - cursor.at) / sizeof(entry))
		return MF_DESCRIPTION_UNKNOWN;
	for (high = count; low < high;) {
		uint64_t middle = low + (high - low) / 2;

		memcpy(&entry, cursor.at + middle * sizeof(entry), sizeof(entry));
		if (entry.location <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return MF_DESCRIPTION_NONE;
	memcpy(&entry, cursor.at + (low - 1) * sizeof(entry), sizeof(entry));
	*fde = header + entry.fde;
	return MF_DESCRIPTION_FOUND;
}

/* Reads the FDE at @fde up to its instructions. Returns false if its format is unsupported. */
static bool read_description(const struct mf_rows_object *object, const uint8_t *fde, struct mf_description *found)
{
	const uint8_t *cie;

	found->program = read_entry(object, fde);
	/* This field of the FDE is the distance from the field itself back to the FDE's CIE. */
	cie = found->program.at;
	cie -= mf_dwarf_fixed(&found->program, 4);
	if (!read_cie(object, cie, &found->cie))
		return false;
	found->begin = mf_dwarf_encoded(&found->program, found->cie.encoding);
	found->size = mf_dwarf_encoded(&found->program, found->cie.encoding & 0x0f);
	return found->size <= UINT64_MAX - found->begin;
}

/* Searches .eh_frame linearly. This is slow, but few objects lack an index. */
static enum mf_description_found search_frames(const struct mf_rows_object *object, uint64_t pc, struct mf_description *found)
{
	struct mf_dwarf cursor = bytes_in(object, object->frames, object->frames_size);
	enum mf_description_found kind = MF_DESCRIPTION_NONE;

	while (cursor.end - cursor.at >= 8) {
		const uint8_t *at = cursor.at;
		uint64_t length = mf_dwarf_fixed(&cursor, 4), id;
		struct mf_description description;

		if (length == 0xffffffff)
			return kind == MF_DESCRIPTION_NONE ? MF_DESCRIPTION_UNKNOWN : kind;
		/* A terminator; the linker may have placed more entries after it. */
		if (!length)
			continue;
		if (length > (uint64_t)(cursor.end - cursor.at))
			break;
		id = length < 4 ? 0 : mf_dwarf_fixed(&(struct mf_dwarf){ .at = cursor.at, .end = cursor.end }, 4);
		cursor.at += length;
		if (!id || !read_description(object, at, &description) || description.begin > pc ||
		    (kind == MF_DESCRIPTION_FOUND && description.begin <= found->begin))
			continue;
		*found = description;
		kind = MF_DESCRIPTION_FOUND;
		if (pc - found->begin < found->size)
			break;
	}
	return kind;
}

enum mf_description_found mf_description_find(const struct mf_rows_object *object, uint64_t pc,
					 struct mf_description *found)
{
	const uint8_t *fde;
	enum mf_description_found kind;

	if (!object->header)
		return object->frames ? search_frames(object, pc, found) : MF_DESCRIPTION_NONE;
	kind = search_table(object, pc, &fde);
	if (kind != MF_DESCRIPTION_FOUND)
		return kind;
	return read_description(object, fde, found) ? MF_DESCRIPTION_FOUND : MF_DESCRIPTION_UNKNOWN;
}

