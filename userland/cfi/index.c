// SPDX-License-Identifier: GPL-2.0
// An index of unwind rules: from .debug_frame, or .eh_frame without its table.

#include "index.h"

#include <stdlib.h>
#include <string.h>

/* From the DWARF and LSB specifications. */
#define CIE_OF_DEBUG_FRAME 0xffffffffu
#define LENGTH_OF_64_BIT   0xfffffff0u
#define PE_ABSPTR	   0x00
#define PE_UDATA4	   0x03
#define PE_UDATA8	   0x04
#define PE_SDATA4	   0x0b
#define PE_SDATA8	   0x0c
#define PE_PCREL	   0x10

struct entry {
	int32_t start, rules; /* from the builder's address */
};

struct mf_cfi_builder {
	uint64_t address;
	uint8_t *bytes;
	size_t size, room;
	struct entry *entries;
	size_t n_entries, max_entries;
	bool failed; /* no memory */
};

/* A place in a section. Reading beyond the end sets bad. */
struct reader {
	const uint8_t *at, *end;
	bool bad;
};

struct cie {
	uint32_t offset; /* in the section */
	uint8_t encoding;
	/* .debug_frame: what is needed to write it anew; where that is. */
	uint64_t code_align, return_register;
	int64_t data_align;
	const uint8_t *rules, *rules_end;
	size_t written; /* in the builder's bytes, plus one; 0: not yet */
};

/* Goes over @size bytes; returns where they are, or NULL if they are not all there. */
static const uint8_t *skip(struct reader *r, uint64_t size)
{
	const uint8_t *at = r->at;

	if ((size_t)(r->end - at) < size) {
		r->bad = true;
		return NULL;
	}
	r->at += size;
	return at;
}

/* A number of @size bytes, 8 at most. */
static uint64_t read_bytes(struct reader *r, size_t size)
{
	const uint8_t *at = skip(r, size);
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, size);
	return value;
}

static uint64_t read_leb(struct reader *r, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)read_bytes(r, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !r->bad);
	if (is_signed && byte & 0x40 && shift < 64)
		value |= ~0ull << shift;
	return value;
}

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

/* Makes what was put since @start a whole entry: its length, and zeros (no operation) behind it. */
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

/* Reads the CIE at @offset of a section, behind its identifier. False if it makes no sense to us. */
static bool read_cie(struct reader r, uint32_t offset, struct cie *cie)
{
	uint8_t version = (uint8_t)read_bytes(&r, 1);
	const char *augmentation = (const char *)r.at;
	uint64_t length = strnlen(augmentation, (size_t)(r.end - r.at));

	*cie = (struct cie){.offset = offset, .encoding = PE_ABSPTR};
	skip(&r, length + 1);
	if (version >= 4 && read_bytes(&r, 2) != sizeof(uint64_t))
		return false; /* addresses of eight bytes, and no segments */
	cie->code_align = read_leb(&r, false);
	cie->data_align = (int64_t)read_leb(&r, true);
	cie->return_register = version == 1 ? read_bytes(&r, 1) : read_leb(&r, false);
	if (r.bad || (*augmentation && *augmentation != 'z'))
		return false;
	if (*augmentation) {
		struct reader data;

		length = read_leb(&r, false);
		data.at = skip(&r, length);
		if (r.bad)
			return false;
		data = (struct reader){.at = data.at, .end = r.at};
		for (const char *c = augmentation + 1; *c; c++) {
			static const uint8_t sizes[16] = {8, 0, 2, 4, 8, 0, 0, 0, 8, 0, 2, 4, 8};
			uint8_t encoding;

			if (*c == 'S' || *c == 'B')
				continue;
			encoding = (uint8_t)read_bytes(&data, 1);
			if (*c == 'R')
				cie->encoding = encoding;
			else if (*c == 'P')
				read_bytes(&data, sizes[encoding & 15]);
			else if (*c != 'L')
				return false;
		}
		if (data.bad)
			return false;
	}
	cie->rules = r.at;
	cie->rules_end = r.end;
	return true;
}

/* The start of an FDE's code; the field that says it is at @field. */
static bool read_start(struct reader *r, uint8_t encoding, uint64_t field, uint64_t *start)
{
	switch (encoding & 15) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		*start = read_bytes(r, 8);
		break;
	case PE_UDATA4:
		*start = read_bytes(r, 4);
		break;
	case PE_SDATA4:
		*start = (uint64_t)(int64_t)(int32_t)read_bytes(r, 4);
		break;
	default:
		return false;
	}
	if ((encoding & 0xf0) == PE_PCREL)
		*start += field;
	else if (encoding & 0xf0)
		return false;
	return !r->bad;
}

/* Writes a CIE of .debug_frame as one of .eh_frame. */
static void write_cie(struct mf_cfi_builder *b, struct cie *cie)
{
	size_t start = b->size;

	put_number(b, 0, 4);
	put_number(b, 0, 4); /* it is a CIE */
	put_number(b, 1, 1);
	put(b, "zR", 3);
	put_leb(b, cie->code_align, false);
	put_leb(b, (uint64_t)cie->data_align, true);
	put_number(b, cie->return_register, 1);
	put_leb(b, 1, false);
	put_number(b, PE_PCREL | PE_SDATA8, 1);
	put(b, cie->rules, (size_t)(cie->rules_end - cie->rules));
	close_entry(b, start);
	cie->written = start + 1;
}

/* Writes an FDE of .debug_frame, at whose addresses @r stands, as one of .eh_frame. */
static void write_fde(struct mf_cfi_builder *b, struct cie *cie, struct reader *r)
{
	uint64_t code = read_bytes(r, 8), length = read_bytes(r, 8);
	size_t start;

	if (r->bad || !length || cie->return_register > 127)
		return;
	if (!cie->written)
		write_cie(b, cie);
	start = b->size;
	put_number(b, 0, 4);
	put_number(b, start + 4 - (cie->written - 1), 4);
	put_number(b, code - (b->address + start + 8), 8);
	put_number(b, length, 8);
	put_leb(b, 0, false);
	put(b, r->at, (size_t)(r->end - r->at));
	close_entry(b, start);
	add_entry(b, code, b->address + start);
}

/* The CIE at @offset, read if it is another than the last one. */
static bool find_cie(const uint8_t *bytes, size_t size, uint64_t offset, struct cie *cie)
{
	struct reader r;
	uint64_t length;

	if (offset > size)
		return false;
	r = (struct reader){.at = bytes + offset, .end = bytes + size};
	if (cie->rules && cie->offset == offset)
		return true;
	length = read_bytes(&r, 4);
	if (r.bad || length >= LENGTH_OF_64_BIT || length > (size_t)(r.end - r.at))
		return false;
	r.end = r.at + length;
	read_bytes(&r, 4);
	return !r.bad && read_cie(r, (uint32_t)offset, cie);
}

static void add_section(struct mf_cfi_builder *b, const uint8_t *bytes, size_t size,
			uint64_t address, bool loaded)
{
	struct cie cie = {0};
	size_t at = 0;

	while (size - at >= 8 && !b->failed) {
		struct reader r = {.at = bytes + at, .end = bytes + size};
		uint64_t length = read_bytes(&r, 4), id, start;

		if (length >= LENGTH_OF_64_BIT || length > (size_t)(r.end - r.at))
			return;
		r.end = r.at + length;
		at += 4 + length;
		if (length < 4)
			continue; /* the end of one object's part */
		id = read_bytes(&r, 4);
		if (id == (loaded ? 0 : CIE_OF_DEBUG_FRAME))
			continue;
		if (loaded)
			id = (uint64_t)(r.at - 4 - bytes) - id;
		if (!find_cie(bytes, size, id, &cie)) {
			cie.rules = NULL;
			continue;
		}
		if (!loaded)
			write_fde(b, &cie, &r);
		else if (read_start(&r, cie.encoding, address + (uint64_t)(r.at - bytes), &start))
			add_entry(b, start, address + at - 4 - length);
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
