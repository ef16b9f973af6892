// SPDX-License-Identifier: GPL-2.0
// A common information entry (CIE): DWARF 5, section 6.4.1; the .eh_frame extensions: Linux Standard Base, "Exception
// Frames".

#include "cie.h"

#include <dwarf.h>
#include <string.h>

/*
 * Reads the augmentation data of a CIE, as described by @letters (without the leading z). Returns false if a letter is
 * unknown.
 */
static bool read_augmentation(const char *letters, struct mf_dwarf data, struct mf_cie *cie)
{
	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			cie->encoding = (uint8_t)mf_dwarf_fixed(&data, 1);
			break;
		case 'P':
			mf_dwarf_encoded(&data, (uint8_t)mf_dwarf_fixed(&data, 1));
			break;
		case 'L':
			mf_dwarf_fixed(&data, 1);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B': /* arm64: return addresses are signed with the B key */
			break;
		default:
			return false;
		}
	}
	return !data.overrun;
}

bool mf_cie_read(struct mf_dwarf entry, struct mf_cie *cie)
{
	uint8_t version = (uint8_t)mf_dwarf_fixed(&entry, 1);
	const char *augmentation = (const char *)entry.at;

	*cie = (struct mf_cie){ .encoding = DW_EH_PE_absptr };
	entry.at += strnlen(augmentation, (size_t)(entry.end - entry.at));
	mf_dwarf_fixed(&entry, 1); /* the terminating NUL of the augmentation string */
	if (entry.overrun)
		return false;
	/* Addresses must be 8 bytes long, without a segment selector. */
	if (version >= 4 && mf_dwarf_fixed(&entry, 2) != sizeof(uint64_t))
		return false;
	cie->code_align = mf_dwarf_uleb(&entry);
	cie->data_align = mf_dwarf_sleb(&entry);
	cie->return_register = version == 1 ? mf_dwarf_fixed(&entry, 1) : mf_dwarf_uleb(&entry);
	if (*augmentation == 'z') {
		cie->augmented = true;
		if (!read_augmentation(augmentation + 1, mf_dwarf_block(&entry), cie))
			return false;
	} else if (*augmentation) {
		return false;
	}
	cie->program = entry;
	return !entry.overrun;
}
