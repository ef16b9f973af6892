// SPDX-License-Identifier: GPL-2.0
// Reads names from the files of one object.

#include "symbols/reader.h"

#include <libelf.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "symbols/demangle.h"
#include "symbols/symtab.h"

/*
 * Once libdw has read units whose total size exceeds this number of bytes, the Dwarf handle is closed, because libdw
 * frees no memory until then.
 */
#define DWARF_BYTES_MAX (6u << 20)

struct mf_reader {
	struct mf_reader_options options;
	struct mf_image image;
	struct mf_symtab symtab;
	Dwarf *dwarf;
	struct mf_positions *positions;
	bool symtab_known, positions_known;
};

struct mf_reader *mf_reader_create(const struct mf_object *object, const struct mf_reader_options *options,
				   mf_image_opening *open, void *opener)
{
	struct mf_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return NULL;
	elf_version(EV_CURRENT);
	reader->options = *options;
	mf_image_open(&reader->image, object, open, opener);
	return reader;
}

static void close_positions(struct mf_reader *reader)
{
	mf_positions_destroy(mf_take(reader->positions, NULL));
	if (reader->dwarf)
		dwarf_end(mf_take(reader->dwarf, NULL));
	reader->positions_known = false;
}

void mf_reader_destroy(struct mf_reader *reader)
{
	if (!reader)
		return;
	mf_symtab_deinit(&reader->symtab);
	close_positions(reader);
	mf_image_close(&reader->image);
	free(reader);
}

const struct mf_image *mf_reader_image(const struct mf_reader *reader)
{
	return &reader->image;
}

static struct mf_symbol *find_symbol(struct mf_reader *reader, uint64_t address)
{
	if (!reader->symtab_known) {
		reader->symtab_known = true;
		if (reader->image.elf)
			mf_symtab_add(&reader->symtab, reader->image.elf);
		if (reader->image.debug_elf)
			mf_symtab_add(&reader->symtab, reader->image.debug_elf);
		mf_symtab_finish(&reader->symtab);
	}
	return mf_symtab_find(&reader->symtab, address);
}

/* Returns the positions reader, or NULL if there is no debug information. */
static struct mf_positions *find_positions(struct mf_reader *reader)
{
	struct mf_image *image = &reader->image;
	Elf *const sources[] = { image->elf, image->debug_elf };
	const int fds[] = { image->fd, image->debug_fd };

	if (reader->positions_known)
		return reader->positions;
	reader->positions_known = true;
	for (size_t i = 0; i < 2 && !reader->dwarf; i++) {
		if (!sources[i] || !mf_sections_have_dwarf(sources[i]))
			continue;
		mf_sections_hide(sources[i]);
		mf_sections_inflate(&image->sections, sources[i], fds[i]);
		reader->dwarf = dwarf_begin_elf(sources[i], DWARF_C_READ, NULL);
	}
	if (reader->dwarf)
		reader->positions = mf_positions_create(reader->dwarf);
	return reader->positions;
}

/* Demangles the name of a symbol only once, even if many of its addresses are looked up. */
static const char *shown_name(const struct mf_reader *reader, struct mf_symbol *symbol)
{
	if (!symbol->shown && reader->options.demangle)
		symbol->shown = mf_demangle(symbol->name);
	if (!symbol->shown)
		symbol->shown = symbol->name;
	return symbol->shown;
}

void mf_reader_find(struct mf_reader *reader, const struct mf_reader_question *question,
		    struct mf_reader_answer *answer)
{
	struct mf_positions *positions;
	struct mf_symbol *symbol;

	answer->symbol = answer->shown = NULL;
	answer->offset = 0;
	answer->split = false;
	answer->n = 0;
	/*
	 * mf_symbolizer_prepare() looks up addresses in ascending order, so lookups in the same compilation unit are
	 * adjacent, and data read for earlier lookups is rarely needed again.
	 */
	if (reader->positions && mf_positions_weight(reader->positions) > DWARF_BYTES_MAX)
		close_positions(reader);
	if (question->wanted & MF_READER_FUNCTION) {
		symbol = find_symbol(reader, question->address);
		if (symbol) {
			answer->symbol = symbol->name;
			answer->shown = shown_name(reader, symbol);
			answer->offset = question->address - symbol->start;
		}
	}
	if (question->wanted & MF_READER_POSITIONS) {
		positions = find_positions(reader);
		answer->positions[0] = (struct mf_position){ 0 };
		answer->n = 1;
		if (!positions)
			return;
		answer->n = (uint32_t)mf_positions_find(positions, question->address, reader->options.inlines,
							answer->positions);
		answer->split = mf_positions_are_split(positions);
	}
}
