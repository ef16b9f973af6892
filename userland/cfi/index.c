// SPDX-License-Identifier: GPL-2.0
// Translates the unwind rules of a file to our own format (index.h).

#include "index.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "form.h"

#define LENGTH_OF_64_BIT 0xfffffff0u

/* Size of the CIE cache. Neighbouring FDEs use only a few different CIEs. */
#define COMMONS 256u

struct entry {
	uint32_t start, rules, order;
};

struct entries {
	struct entry *at;
	uint32_t n, max;
};

/* A CIE of the object. */
struct common {
	struct mf_cie cie;
	uint64_t address; /* link-time address of the CIE, or its offset in the section */
	bool known;	  /* this cache entry is in use */
	bool useless;	  /* the CIE is damaged or unsupported */
	/* 1 + the offset in builder->rules at which the translated CIE was written; 0 if it has not been written yet */
	uint32_t written;
};

struct mf_cfi_builder {
	uint64_t base;
	uint8_t *rules;
	size_t size, room;
	struct entries entries[MF_CFI_TABLES];
	struct common commons[COMMONS]; /* cache of CIEs, indexed by a hash of their addresses */
	bool failed; /* out of memory, or too many rules */
};

/* An FDE, parsed up to its instructions. */
struct fde {
	enum mf_cfi_table table;
	uint64_t listed_start; /* start of the FDE's code according to the search table */
	uint64_t start, size;
	struct mf_dwarf program;
};

static void put(struct mf_cfi_builder *b, const void *bytes, size_t size)
{
	if (b->failed)
		return;
	if (size > MF_CFI_RULES_MAX - b->size) {
		b->failed = true;
		return;
	}
	if (b->room - b->size < size) {
		size_t room = (b->size + size) * 2 + 4096;
		uint8_t *more = realloc(b->rules, room);

		if (!more) {
			b->failed = true;
			return;
		}
		b->rules = more;
		b->room = room;
	}
	memcpy(b->rules + b->size, bytes, size);
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

/* Completes the entry that begins at @start by setting its length field. */
static void close_entry(struct mf_cfi_builder *b, size_t start)
{
	uint32_t length = (uint32_t)(b->size - start - sizeof(length));

	if (!b->failed)
		memcpy(b->rules + start, &length, sizeof(length));
}

static void add_entry(struct mf_cfi_builder *b, enum mf_cfi_table table, uint64_t start, size_t rules)
{
	struct entries *entries = &b->entries[table];
	struct entry *more;

	if (b->failed)
		return;
	if (entries->n == entries->max) {
		more = reallocarray(entries->at, entries->max * 2u + 64u, sizeof(*more));
		if (!more) {
			b->failed = true;
			return;
		}
		entries->at = more;
		entries->max = entries->max * 2 + 64;
	}
	entries->at[entries->n] = (struct entry){ (uint32_t)start, (uint32_t)rules, entries->n };
	entries->n++;
}

/*
 * Writes out @program, the call frame instructions for the code that begins at @start. Converts DW_CFA_set_loc, whose
 * operand has the address encoding of the file, to an advance.
 */
static void put_program(struct mf_cfi_builder *b, const struct mf_cie *cie, struct mf_dwarf program, uint64_t start)
{
	uint64_t unit = cie->code_align ? cie->code_align : 1, location = start;
	const uint8_t *from = program.at; /* start of the instructions not yet copied to b->rules */
	uint32_t remembered = 0;

	while (program.at < program.end) {
		const uint8_t *at = program.at;
		struct mf_cfi_instruction next = mf_cfi_next(&program, &remembered);
		uint64_t to;

		switch (next.kind) {
		case MF_CFI_ADVANCE:
			location += next.operand * cie->code_align;
			break;
		case MF_CFI_PLAIN:
			break;
		case MF_CFI_SET_LOC:
			/*
			 * Only absolute addresses, as in .debug_frame, are supported. A relative address would require
			 * its position in the file.
			 */
			put(b, from, (size_t)(at - from));
			to = cie->encoding & 0xf0 ? 0 : mf_dwarf_encoded(&program, cie->encoding);
			if (!to || program.overrun || to < location || (to - location) % unit ||
			    (to - location) / unit > UINT32_MAX) {
				put_number(b, MF_CFI_STOP_OPCODE, 1);
				return;
			}
			put_number(b, DW_CFA_advance_loc4, 1);
			put_number(b, (to - location) / unit, 4);
			location = to;
			from = program.at;
			break;
		default:
			put(b, from, (size_t)(at - from));
			put_number(b, MF_CFI_STOP_OPCODE, 1);
			return;
		}
	}
	put(b, from, (size_t)(program.end - from));
}

static bool is_too_long(struct mf_dwarf program)
{
	return program.end - program.at > (ptrdiff_t)MF_CFI_PROGRAM_MAX;
}

/* Reads the start address of an FDE's code. @field is the address of that field itself. */
static bool read_start(struct mf_dwarf *reader, uint8_t encoding, uint64_t field, uint64_t *start)
{
	uint8_t base = encoding & 0xf0;

	if (base && base != DW_EH_PE_pcrel)
		return false;
	*start = mf_dwarf_encoded(reader, encoding & 0x0f) + (base ? field : 0);
	return !reader->overrun;
}

/* Writes the CIE in the format of index.h. */
static void write_cie(struct mf_cfi_builder *b, struct common *common)
{
	const struct mf_cie *cie = &common->cie;
	size_t start = b->size;

	put_number(b, 0, 4);
	put_number(b, 0, 4); /* the id field, which is 0 for a CIE */
	put_number(b, MF_CFI_VERSION, 1);
	if (cie->signal)
		put(b, "zRS", 4);
	else
		put(b, "zR", 3);
	put_leb(b, cie->code_align, false);
	put_leb(b, (uint64_t)cie->data_align, true);
	put_number(b, cie->return_register, 1);
	put_leb(b, 1, false);
	put_number(b, MF_CFI_ENCODING, 1);
	put_program(b, cie, cie->program, 0);
	close_entry(b, start);
	common->written = (uint32_t)start + 1;
}

/* Writes the FDE in the format of index.h. */
static void write_fde(struct mf_cfi_builder *b, struct common *common, const struct fde *fde)
{
	size_t start;

	if (!fde->size || fde->size > UINT32_MAX || fde->start < b->base || fde->start - b->base > UINT32_MAX ||
	    fde->listed_start < b->base || fde->listed_start - b->base > UINT32_MAX || is_too_long(fde->program))
		return;
	if (!common->written)
		write_cie(b, common);
	start = b->size;
	put_number(b, 0, 4);
	put_number(b, start + 4 - (common->written - 1), 4);
	put_number(b, fde->start - b->base, 4);
	put_number(b, fde->size, 4);
	put_leb(b, 0, false);
	put_program(b, &common->cie, fde->program, fde->start);
	close_entry(b, start);
	add_entry(b, fde->table, fde->listed_start - b->base, start);
}

/*
 * Returns the contents, without the length field, of the entry at @offset in a section, and stores the offset of the
 * next entry in *@next. Returns no bytes if there is no entry at @offset.
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

static struct common *common_at(struct mf_cfi_builder *b, uint64_t address)
{
	return &b->commons[(address ^ address >> 8) / 4 % COMMONS];
}

/* Parses the CIE at @address into the cache. @entry is its contents, without the length field. */
static struct common *take_cie(struct mf_cfi_builder *b, uint64_t address, struct mf_dwarf entry)
{
	struct common *common = common_at(b, address);

	mf_dwarf_fixed(&entry, 4);
	*common = (struct common){ .address = address, .known = true };
	common->useless = entry.overrun || !mf_cie_read(entry, &common->cie) ||
			  common->cie.return_register > UINT8_MAX || is_too_long(common->cie.program);
	return common;
}

/* Returns the CIE at @address if it is in the cache, otherwise NULL. */
static struct common *known_cie(struct mf_cfi_builder *b, uint64_t address)
{
	struct common *common = common_at(b, address);

	return common->known && common->address == address ? common : NULL;
}

/*
 * Reads an FDE of .eh_frame. @entry is its contents after the reference to its CIE; @address is the link-time address
 * of these contents. Returns false if the FDE is truncated or its encoding is unsupported.
 */
static bool read_loaded(const struct mf_cie *cie, struct mf_dwarf entry, uint64_t address, struct fde *fde)
{
	if (!read_start(&entry, cie->encoding, address, &fde->start))
		return false;
	fde->size = mf_dwarf_encoded(&entry, cie->encoding & 0x0f);
	if (cie->augmented)
		mf_dwarf_block(&entry);
	fde->program = entry;
	return !entry.overrun;
}

static bool read_unloaded(struct mf_dwarf entry, struct fde *fde)
{
	fde->start = mf_dwarf_fixed(&entry, 8);
	fde->size = mf_dwarf_fixed(&entry, 8);
	fde->program = entry;
	return !entry.overrun;
}

static void add_section(struct mf_cfi_builder *b, const uint8_t *bytes, size_t size,
			uint64_t address, bool loaded)
{
	size_t at, next, next_of_cie;

	memset(b->commons, 0, sizeof(b->commons));
	for (at = 0; size - at >= 8 && !b->failed; at = next) {
		struct mf_dwarf entry = entry_at(bytes, size, at, &next);
		struct fde fde = { .table = MF_CFI_OTHER };
		struct common *common;
		uint64_t id;

		if (entry.end - entry.at < 4)
			continue; /* a terminator, at the end of an object file's contribution */
		id = mf_dwarf_fixed(&entry, 4);
		if (id == (loaded ? 0 : DW_CIE_ID_32))
			continue;
		if (loaded)
			id = (uint64_t)(entry.at - 4 - bytes) - id;
		common = known_cie(b, id) ?: take_cie(b, id, entry_at(bytes, size, id, &next_of_cie));
		if (common->useless ||
		    !(loaded ? read_loaded(&common->cie, entry, address + (uint64_t)(entry.at - bytes), &fde) :
			       read_unloaded(entry, &fde)))
			continue;
		fde.listed_start = fde.start;
		write_fde(b, common, &fde);
	}
}

struct mf_cfi_builder *mf_cfi_begin(uint64_t base)
{
	struct mf_cfi_builder *builder = calloc(1, sizeof(*builder));

	if (builder)
		builder->base = base;
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

void mf_cfi_add_listed(struct mf_cfi_builder *b, uint64_t start, uint64_t address, mf_cfi_read_entry *read, void *data)
{
	struct fde fde = { .table = MF_CFI_LISTED, .listed_start = start };
	struct mf_dwarf entry = read(data, address);
	struct common *common;
	uint64_t distance = mf_dwarf_fixed(&entry, 4), at = address + 4;

	if (entry.overrun || !distance)
		return;
	common = known_cie(b, at - distance) ?: take_cie(b, at - distance, read(data, at - distance));
	if (!common->useless && read_loaded(&common->cie, entry, at + 4, &fde))
		write_fde(b, common, &fde);
}

/*
 * Compares two entries by start address; entries with the same start address are compared by their order in the file.
 */
static int by_start(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start > y->start ? 1 : -1;
	return (x->order > y->order) - (x->order < y->order);
}

/* The entries of .eh_frame_hdr are usually sorted already. */
static bool is_sorted(const struct entries *entries)
{
	for (uint32_t i = 1; i < entries->n; i++)
		if (by_start(&entries->at[i - 1], &entries->at[i]) > 0)
			return false;
	return true;
}

/* Copies the entries of one table to @cfi in sorted order. Returns false if out of memory. */
static bool take_entries(struct entries *entries, struct mf_cfi *cfi, enum mf_cfi_table table)
{
	struct mf_cfi_entry *taken = calloc(entries->n + 1u, sizeof(*taken));

	if (!taken)
		return false;
	if (!is_sorted(entries))
		qsort(entries->at, entries->n, sizeof(*entries->at), by_start);
	for (uint32_t i = 0; i < entries->n; i++)
		taken[i] = (struct mf_cfi_entry){ entries->at[i].start, entries->at[i].rules };
	cfi->entries[table] = taken;
	cfi->n_entries[table] = entries->n;
	return true;
}

bool mf_cfi_end(struct mf_cfi_builder *b, struct mf_cfi *cfi)
{
	static const uint8_t spare[MF_CFI_SPARE_BYTES + 8];
	bool any;

	*cfi = (struct mf_cfi){ .base = b->base };
	put(b, spare, MF_CFI_SPARE_BYTES);
	put(b, spare, (8 - b->size % 8) % 8);
	any = !b->failed && (b->entries[MF_CFI_LISTED].n || b->entries[MF_CFI_OTHER].n) &&
	      take_entries(&b->entries[MF_CFI_LISTED], cfi, MF_CFI_LISTED) &&
	      take_entries(&b->entries[MF_CFI_OTHER], cfi, MF_CFI_OTHER);
	if (any) {
		cfi->rules = mf_take(b->rules, NULL);
		cfi->size = (uint32_t)b->size;
	} else {
		mf_cfi_deinit(cfi);
	}
	free(b->rules);
	for (int i = 0; i < MF_CFI_TABLES; i++)
		free(b->entries[i].at);
	free(b);
	return any;
}

void mf_cfi_deinit(struct mf_cfi *cfi)
{
	for (int i = 0; i < MF_CFI_TABLES; i++)
		free((void *)cfi->entries[i]);
	free((void *)cfi->rules);
	*cfi = (struct mf_cfi){ 0 };
}
