// SPDX-License-Identifier: GPL-2.0
// Builds an index of unwind rules from .debug_frame, or from an .eh_frame without its table.

#include "index.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "cie.h"

#define LENGTH_OF_64_BIT 0xfffffff0u

struct entry {
	int32_t start, rules; /* relative to the builder's address */
};

struct mf_cfi_builder {
	uint64_t address;
	uint8_t *bytes;
	size_t size, room;
	struct entry *entries;
	size_t n_entries, max_entries;
	bool failed; /* memory ran out */
};

/* The CIE of the entries that are being read. */
struct common {
	struct mf_cie cie;
	uint64_t offset; /* position of the CIE in the section */
	bool known;
	size_t written; /* position of its translation in the builder's bytes, plus one; 0: not translated yet */
};

static void put(struct mf_cfi_builder *b, const void *bytes, size_t size)
{
	if (b->failed)
		return;
	if (b->room - b->size < size) {
		size_t room = (b->size + size) * 2 + 4096;
		uint8_t *more = realloc(b->bytes, room);

		if (!more) {
			b->failed = true;
			return;
		}
		b->bytes = more;
		b->room = room;
	}
	memcpy(b->bytes + b->size, bytes, size);
	b->size += size;
}

static void put_number(struct mf_cfi_builder *b, uint64_t value, size_t size)
{
	put(b, &value, size);
}

static void put_leb(struct mf_cfi_builder *b, uint64_t value, bool is_signed)
{
	for (;;) {
		uint8_t byte = value & 0x7f;
		bool last;

		value = is_signed ? (uint64_t)((int64_t)value >> 7) : value >> 7;
		last = is_signed ? (!value && !(byte & 0x40)) || (value == ~0ull && byte & 0x40) :
				   !value;
		byte |= last ? 0 : 0x80;
		put(b, &byte, 1);
		if (last)
			return;
	}
}

/* Completes the entry begun at @start: pads it with zeroes (no operation) and sets its length. */
static void close_entry(struct mf_cfi_builder *b, size_t start)
{
	uint32_t length;

	while (b->size % 8 && !b->failed)
		put_number(b, 0, 1);
	if (b->failed)
		return;
	length = (uint32_t)(b->size - start - sizeof(length));
	memcpy(b->bytes + start, &length, sizeof(length));
}

static void add_entry(struct mf_cfi_builder *b, uint64_t start, uint64_t rules)
{
	int64_t from = (int64_t)(start - b->address), to = (int64_t)(rules - b->address);
	struct entry *more;

	if (from != (int32_t)from || to != (int32_t)to)
		return;
	if (b->n_entries == b->max_entries) {
		more = realloc(b->entries, (b->max_entries * 2 + 64) * sizeof(*more));
		if (!more) {
			b->failed = true;
			return;
		}
		b->entries = more;
		b->max_entries = b->max_entries * 2 + 64;
	}
	b->entries[b->n_entries++] = (struct entry){(int32_t)from, (int32_t)to};
}

/* Reads the start address of an FDE's code. @field is the address of that field. */
static bool read_start(struct mf_dwarf *reader, uint8_t encoding, uint64_t field, uint64_t *start)
{
	uint8_t base = encoding & 0xf0;

	if (base && base != DW_EH_PE_pcrel)
		return false;
	*start = mf_dwarf_encoded(reader, encoding & 0x0f) + (base ? field : 0);
	return !reader->overrun;
}

/* Writes a CIE of .debug_frame in the format of .eh_frame. */
static void write_cie(struct mf_cfi_builder *b, struct common *common)
{
	const struct mf_cie *cie = &common->cie;
	size_t start = b->size;

	put_number(b, 0, 4);
	put_number(b, 0, 4); /* the identifier of a CIE */
	put_number(b, 1, 1);
	put(b, "zR", 3);
	put_leb(b, cie->code_align, false);
	put_leb(b, (uint64_t)cie->data_align, true);
	put_number(b, cie->return_register, 1);
	put_leb(b, 1, false);
	put_number(b, DW_EH_PE_pcrel | DW_EH_PE_sdata8, 1);
	put(b, cie->program.at, (size_t)(cie->program.end - cie->program.at));
	close_entry(b, start);
	common->written = start + 1;
}

/* Writes an FDE of .debug_frame in the format of .eh_frame. @reader is at its addresses. */
static void write_fde(struct mf_cfi_builder *b, struct common *common, struct mf_dwarf *reader)
{
	uint64_t code = mf_dwarf_fixed(reader, 8), length = mf_dwarf_fixed(reader, 8);
	size_t start;

	if (reader->overrun || !length || common->cie.return_register > 127)
		return;
	if (!common->written)
		write_cie(b, common);
	start = b->size;
	put_number(b, 0, 4);
	put_number(b, start + 4 - (common->written - 1), 4);
	put_number(b, code - (b->address + start + 8), 8);
	put_number(b, length, 8);
	put_leb(b, 0, false);
	put(b, reader->at, (size_t)(reader->end - reader->at));
	close_entry(b, start);
	add_entry(b, code, b->address + start);
}

/*
 * Returns the bytes after the length of the entry at @offset of a section, and the position behind it in *@next.
 * Returns none if there is no entry.
 */
static struct mf_dwarf entry_at(const uint8_t *bytes, size_t size, uint64_t offset, size_t *next)
{
	struct mf_dwarf section = { .at = bytes + size, .end = bytes + size };
	uint64_t length;

	*next = size;
	if (offset > size)
		return section;
	section.at = bytes + offset;
	length = mf_dwarf_fixed(&section, 4);
	if (length >= LENGTH_OF_64_BIT || length > (size_t)(section.end - section.at))
		return (struct mf_dwarf){ .at = section.end, .end = section.end };
	section.end = section.at + length;
	*next = (size_t)(section.end - bytes);
	return section;
}

/* Reads the CIE at @offset to @common. Returns false if its form is unsupported. */
static bool find_cie(const uint8_t *bytes, size_t size, uint64_t offset, struct common *common)
{
	struct mf_dwarf entry;
	size_t next;

	if (common->known && common->offset == offset)
		return true;
	entry = entry_at(bytes, size, offset, &next);
	mf_dwarf_fixed(&entry, 4);
	*common = (struct common){ .offset = offset };
	common->known = !entry.overrun && mf_cie_read(entry, &common->cie);
	return common->known;
}

static void add_section(struct mf_cfi_builder *b, const uint8_t *bytes, size_t size,
			uint64_t address, bool loaded)
{
	struct common common = { .known = false };
	size_t at, next;

	for (at = 0; size - at >= 8 && !b->failed; at = next) {
		struct mf_dwarf entry = entry_at(bytes, size, at, &next);
		uint64_t id, start;

		if (entry.end - entry.at < 4)
			continue; /* a terminator, at the end of one object file's part */
		id = mf_dwarf_fixed(&entry, 4);
		if (id == (loaded ? 0 : DW_CIE_ID_32))
			continue;
		if (loaded)
			id = (uint64_t)(entry.at - 4 - bytes) - id;
		if (!find_cie(bytes, size, id, &common))
			continue;
		if (!loaded)
			write_fde(b, &common, &entry);
		else if (read_start(&entry, common.cie.encoding, address + (uint64_t)(entry.at - bytes), &start))
			add_entry(b, start, address + at);
	}
}

struct mf_cfi_builder *mf_cfi_begin(uint64_t address)
{
	struct mf_cfi_builder *builder = calloc(1, sizeof(*builder));

	if (builder)
		builder->address = address;
	return builder;
}

void mf_cfi_add_debug_frame(struct mf_cfi_builder *builder, const uint8_t *bytes, size_t size)
{
	add_section(builder, bytes, size, 0, false);
}

void mf_cfi_add_eh_frame(struct mf_cfi_builder *builder, const uint8_t *bytes, size_t size,
			 uint64_t address)
{
	add_section(builder, bytes, size, address, true);
}

static int by_start(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

bool mf_cfi_end(struct mf_cfi_builder *b, struct mf_cfi *cfi)
{
	bool any = b->n_entries && !b->failed;

	*cfi = (struct mf_cfi){0};
	if (any) {
		size_t table = b->size;

		qsort(b->entries, b->n_entries, sizeof(*b->entries), by_start);
		put(b, b->entries, b->n_entries * sizeof(*b->entries));
		any = !b->failed;
		if (any)
			*cfi = (struct mf_cfi){
				.address = b->address,
				.bytes = b->bytes,
				.size = b->size,
				.table = b->address + table,
				.n_entries = b->n_entries,
			};
	}
	if (!any)
		free(b->bytes);
	free(b->entries);
	free(b);
	return any;
}
