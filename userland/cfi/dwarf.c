// SPDX-License-Identifier: GPL-2.0
// Reads numbers in DWARF encodings (DWARF 5, section 7; pointers: Linux Standard Base, "DWARF Extensions").

#include "dwarf.h"

#include <dwarf.h>
#include <string.h>

uint64_t mf_dwarf_fixed(struct mf_dwarf *reader, size_t size)
{
	uint64_t value = 0;

	if ((size_t)(reader->end - reader->at) < size) {
		reader->at = reader->end;
		reader->overrun = true;
		return 0;
	}
	memcpy(&value, reader->at, size);
	reader->at += size;
	return value;
}

static uint64_t read_leb(struct mf_dwarf *reader, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)mf_dwarf_fixed(reader, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && (byte & 0x40))
		value |= ~0ull << shift;
	return value;
}

uint64_t mf_dwarf_uleb(struct mf_dwarf *reader)
{
	return read_leb(reader, false);
}

int64_t mf_dwarf_sleb(struct mf_dwarf *reader)
{
	return (int64_t)read_leb(reader, true);
}

uint64_t mf_dwarf_encoded(struct mf_dwarf *reader, uint8_t encoding)
{
	uint64_t base = (encoding & 0x70) == DW_EH_PE_pcrel ? (uint64_t)(uintptr_t)reader->at : 0;

	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return base + mf_dwarf_fixed(reader, 8);
	case DW_EH_PE_uleb128:
		return base + mf_dwarf_uleb(reader);
	case DW_EH_PE_udata2:
		return base + mf_dwarf_fixed(reader, 2);
	case DW_EH_PE_udata4:
		return base + mf_dwarf_fixed(reader, 4);
	case DW_EH_PE_sleb128:
		return base + (uint64_t)mf_dwarf_sleb(reader);
	case DW_EH_PE_sdata2:
		return base + (uint64_t)(int16_t)mf_dwarf_fixed(reader, 2);
	case DW_EH_PE_sdata4:
		return base + (uint64_t)(int32_t)mf_dwarf_fixed(reader, 4);
	default:
		reader->at = reader->end;
		reader->overrun = true;
		return 0;
	}
}

struct mf_dwarf mf_dwarf_block(struct mf_dwarf *reader)
{
	uint64_t length = mf_dwarf_uleb(reader);
	struct mf_dwarf block = { reader->at, reader->at };

	if (length > (uint64_t)(reader->end - reader->at)) {
		reader->overrun = true;
		length = 0;
	}
	block.end += length;
	reader->at += length;
	return block;
}
