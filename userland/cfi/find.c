// SPDX-License-Identifier: GPL-2.0
// Finds the unwind rules of a code address in the tables of an object (struct mf_cfi). The tables are not trusted, so
// rules are checked before they are returned.

#include "index.h"

#include <string.h>

#include "check.h"
#include "form.h"

#if defined(__x86_64__)
#define RETURN_REGISTER_LAST 16u
#elif defined(__aarch64__)
#define RETURN_REGISTER_LAST 31u
#endif

/*
 * Returns the contents of the entry at @offset, without its length field; empty if the entry extends beyond the rules.
 */
static struct mf_dwarf entry_at(const struct mf_cfi *cfi, uint64_t offset)
{
	struct mf_dwarf none = { .overrun = true };
	struct mf_dwarf entry;
	uint32_t length;

	if (offset > cfi->size || cfi->size - offset < sizeof(length))
		return none;
	memcpy(&length, cfi->rules + offset, sizeof(length));
	/* libunwind may read a few bytes past the end of a CIE or FDE, so the rules must contain spare bytes there. */
	if (length > cfi->size - offset - sizeof(length) ||
	    cfi->size - offset - sizeof(length) - length < MF_CFI_SPARE_BYTES)
		return none;
	entry.at = cfi->rules + offset + sizeof(length);
	entry.end = entry.at + length;
	entry.overrun = false;
	return entry;
}

/* Returns whether the instructions that make up the rest of @entry are safe for libunwind. */
static bool is_safe(struct mf_dwarf entry)
{
	return !entry.overrun && entry.end - entry.at <= (ptrdiff_t)MF_CFI_PROGRAM_MAX && mf_cfi_is_safe(entry);
}

/* Checks the CIE at @offset. */
static bool check_cie(const struct mf_cfi *cfi, uint64_t offset, bool *signal)
{
	struct mf_dwarf entry = entry_at(cfi, offset);

	if (entry.overrun || mf_dwarf_fixed(&entry, 4) != 0 || mf_dwarf_fixed(&entry, 1) != MF_CFI_VERSION ||
	    mf_dwarf_fixed(&entry, 1) != 'z' || mf_dwarf_fixed(&entry, 1) != 'R')
		return false;
	*signal = entry.at < entry.end && *entry.at == 'S';
	entry.at += *signal;
	if (mf_dwarf_fixed(&entry, 1) != 0)
		return false;
	mf_cfi_skip_leb(&entry); /* skip the code and data alignment factors of the CIE */
	mf_cfi_skip_leb(&entry);
	if (mf_dwarf_fixed(&entry, 1) > RETURN_REGISTER_LAST || mf_dwarf_fixed(&entry, 1) != 1 ||
	    mf_dwarf_fixed(&entry, 1) != MF_CFI_ENCODING)
		return false;
	return is_safe(entry);
}

static bool check_fde(const struct mf_cfi *cfi, uint32_t offset, struct mf_cfi_found *found)
{
	struct mf_dwarf entry = entry_at(cfi, offset);
	uint64_t distance = mf_dwarf_fixed(&entry, 4), at = (uint64_t)offset + 4;

	if (entry.overrun || !distance || distance > at || !check_cie(cfi, at - distance, &found->signal))
		return false;
	found->rules = offset;
	found->begin = cfi->base + mf_dwarf_fixed(&entry, 4);
	found->size = mf_dwarf_fixed(&entry, 4);
	return mf_dwarf_fixed(&entry, 1) == 0 && is_safe(entry);
}

static bool find_in(const struct mf_cfi *cfi, enum mf_cfi_table table, uint64_t address, struct mf_cfi_found *found)
{
	const struct mf_cfi_entry *entries = cfi->entries[table];
	uint32_t low = 0, high = cfi->n_entries[table];

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (entries[middle].start <= address - cfi->base)
			low = middle + 1;
		else
			high = middle;
	}
	return low && check_fde(cfi, entries[low - 1].rules, found) && address >= found->begin &&
	       address - found->begin < found->size;
}

bool mf_cfi_find(const struct mf_cfi *cfi, uint64_t address, struct mf_cfi_found *found)
{
	if (address < cfi->base || address - cfi->base > UINT32_MAX)
		return false;
	return find_in(cfi, MF_CFI_LISTED, address, found) || find_in(cfi, MF_CFI_OTHER, address, found);
}
