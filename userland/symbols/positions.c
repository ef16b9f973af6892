// SPDX-License-Identifier: GPL-2.0
// Source positions from DWARF: line numbers, and the calls that were inlined at an address.
//
// Nothing is read until an address needs it. .debug_aranges says which unit contains an address, but some compilers
// (clang) do not emit it. So the first time that it does not cover an address, an index of all units is built from
// their own ranges. Within a unit, only the ranges of functions are indexed. The tree of lexical blocks and inlined
// calls is read only for the function that contains the address.

#include "symbols/positions.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/ranges.h"

/* Maximum depth of a tree of DWARF entries. No valid tree is deeper; a damaged one must not overflow the stack. */
#define DEPTH_MAX 256

/* A compilation unit that was read because an address in it was looked up. */
struct unit {
	struct unit *next;
	Dwarf_Off offset;	    /* offset of the unit's first entry */
	/* @code: the unit's entry that contains the functions; for split DWARF, it is in a different file from @die */
	Dwarf_Die die, code;
	struct mf_ranges functions; /* offset of each function's DWARF entry, by the function's code range */
	bool functions_known, functions_deep;
	Dwarf_Lines *lines;
	size_t n_lines;
	Dwarf_Files *files;
	size_t n_files;
	const char *directory; /* working directory of the compiler, or NULL if unknown */
};

#define UNIT_BUCKETS 256

struct mf_positions {
	Dwarf *dwarf;
	Dwarf_Aranges *aranges; /* index in .debug_aranges, or NULL if none */
	struct mf_ranges units; /* offset of each unit's first DWARF entry, by the unit's code range */
	bool aranges_known, units_known;
	struct unit *buckets[UNIT_BUCKETS];
	size_t weight; /* bytes of .debug_info read so far */
	bool split;    /* at least one unit is only a skeleton, with its contents in another file */
};

struct mf_positions *mf_positions_create(Dwarf *dwarf)
{
	struct mf_positions *positions = calloc(1, sizeof(*positions));

	if (positions)
		positions->dwarf = dwarf;
	return positions;
}

size_t mf_positions_weight(const struct mf_positions *positions)
{
	return positions->weight;
}

bool mf_positions_are_split(const struct mf_positions *positions)
{
	return positions->split;
}

void mf_positions_destroy(struct mf_positions *positions)
{
	if (!positions)
		return;
	for (size_t i = 0; i < UNIT_BUCKETS; i++) {
		while (positions->buckets[i]) {
			struct unit *unit = positions->buckets[i];

			positions->buckets[i] = unit->next;
			mf_ranges_deinit(&unit->functions);
			free(unit);
		}
	}
	mf_ranges_deinit(&positions->units);
	free(positions);
}

/* Adds all address ranges of the DWARF entry @die to the list, each with @value. Returns whether there are any. */
static bool add_ranges(struct mf_ranges *ranges, Dwarf_Die *die, uint64_t value)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	bool any = false;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		/* The linker sets the ranges of discarded code to address 0. */
		if (start == 0 || start >= end)
			continue;
		if (!mf_ranges_add(ranges, start, end, value))
			break;
		any = true;
	}
	return any;
}

static void index_units(struct mf_positions *positions)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;

	positions->units_known = true;
	while (dwarf_get_units(positions->dwarf, cu, &cu, NULL, NULL, &die, NULL) == 0)
		add_ranges(&positions->units, &die, dwarf_dieoffset(&die));
	mf_ranges_sort(&positions->units);
}

/* Sets *@offset to the first entry of the unit that contains @address. Returns false if there is none. */
static bool find_unit_offset(struct mf_positions *positions, uint64_t address, Dwarf_Off *offset)
{
	const struct mf_range *range;
	Dwarf_Arange *arange;
	size_t count;

	if (!positions->aranges_known) {
		positions->aranges_known = true;
		if (dwarf_getaranges(positions->dwarf, &positions->aranges, &count))
			positions->aranges = NULL;
	}
	if (positions->aranges) {
		arange = dwarf_getarange_addr(positions->aranges, address);
		if (arange && dwarf_getarangeinfo(arange, NULL, NULL, offset) == 0)
			return true;
	}
	if (!positions->units_known)
		index_units(positions);
	range = mf_ranges_find(&positions->units, address);
	if (!range)
		return false;
	*offset = range->value;
	return true;
}

static const char *compilation_directory(Dwarf_Die *die)
{
	Dwarf_Attribute found;

	return dwarf_attr(die, DW_AT_comp_dir, &found) ? dwarf_formstring(&found) : NULL;
}

/* Returns the size of the unit that begins with @die, in bytes. */
static size_t unit_bytes(Dwarf *dwarf, Dwarf_Die *die)
{
	Dwarf_Off start = dwarf_dieoffset(die) - dwarf_cuoffset(die), next;

	if (dwarf_next_unit(dwarf, start, &next, NULL, NULL, NULL, NULL, NULL, NULL, NULL))
		return 0;
	return next - start;
}

/* Reads the header of a compilation unit, its line table and its file names. */
static struct unit *read_unit(struct mf_positions *positions, Dwarf_Off offset)
{
	struct unit *unit = calloc(1, sizeof(*unit));
	Dwarf_Die split;
	uint8_t type;

	if (!unit)
		return NULL;
	unit->offset = offset;
	if (!dwarf_offdie(positions->dwarf, offset, &unit->die)) {
		free(unit);
		return NULL;
	}
	positions->weight += unit_bytes(positions->dwarf, &unit->die);
	unit->code = unit->die;
	unit->directory = compilation_directory(&unit->die);
	if (dwarf_cu_info(unit->die.cu, NULL, &type, NULL, &split, NULL, NULL, NULL) == 0 &&
	    type == DW_UT_skeleton) {
		positions->split = true;
		if (split.addr)
			unit->code = split;
	}
	if (dwarf_getsrclines(&unit->die, &unit->lines, &unit->n_lines))
		unit->n_lines = 0;
	if (dwarf_getsrcfiles(&unit->code, &unit->files, &unit->n_files) &&
	    dwarf_getsrcfiles(&unit->die, &unit->files, &unit->n_files))
		unit->n_files = 0;
	return unit;
}

static struct unit *find_unit(struct mf_positions *positions, uint64_t address)
{
	struct unit **bucket, *unit;
	Dwarf_Off offset;

	if (!find_unit_offset(positions, address, &offset))
		return NULL;
	bucket = &positions->buckets[offset * 0x9e3779b97f4a7c15ull >> 56];
	for (unit = *bucket; unit; unit = unit->next) {
		if (unit->offset == offset)
			return unit;
	}
	unit = read_unit(positions, offset);
	if (unit) {
		unit->next = *bucket;
		*bucket = unit;
	}
	return unit;
}

/*
 * A walk over a tree of DWARF entries (DIEs), parents first. In valid DWARF, each visited entry has a higher offset
 * than the previous one. The walk stops if this does not hold, because damaged entries could form a cycle.
 */
struct walk {
	Dwarf_Off last; /* section offset of the DWARF entry that was visited last */
	int depth;
};

static bool visit(struct walk *walk, Dwarf_Die *die)
{
	Dwarf_Off offset = dwarf_dieoffset(die);

	if (offset <= walk->last)
		return false;
	walk->last = offset;
	return true;
}

static bool first_child(struct walk *walk, Dwarf_Die *parent, Dwarf_Die *die)
{
	return walk->depth < DEPTH_MAX && dwarf_child(parent, die) == 0 && visit(walk, die);
}

static bool next_sibling(struct walk *walk, Dwarf_Die *die)
{
	Dwarf_Die next;

	if (dwarf_siblingof(die, &next) != 0 || !visit(walk, &next))
		return false;
	*die = next;
	return true;
}

/* Returns whether an entry with this tag may contain functions with code. */
static bool holds_functions(int tag, bool deep)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return true;
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
		return deep;
	default:
		return false;
	}
}

static void index_functions(struct mf_ranges *functions, Dwarf_Die *parent, bool deep,
			    struct walk *walk)
{
	Dwarf_Die die;

	if (!first_child(walk, parent, &die))
		return;
	walk->depth++;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			add_ranges(functions, &die, dwarf_dieoffset(&die));
		if (holds_functions(tag, deep))
			index_functions(functions, &die, deep, walk);
	} while (next_sibling(walk, &die));
	walk->depth--;
}

static void index_unit(struct unit *unit, bool deep)
{
	struct walk walk = { 0 };

	mf_ranges_deinit(&unit->functions);
	index_functions(&unit->functions, &unit->code, deep, &walk);
	mf_ranges_sort(&unit->functions);
	unit->functions_known = true;
	unit->functions_deep = deep;
}

/*
 * Finds the function that contains @address. Functions nested in other functions are searched only if this fails, since
 * that is slow.
 */
static bool find_function(struct unit *unit, uint64_t address, Dwarf_Die *function)
{
	const struct mf_range *range;

	if (!unit->functions_known)
		index_unit(unit, false);
	range = mf_ranges_find(&unit->functions, address);
	if (!range && !unit->functions_deep) {
		index_unit(unit, true);
		range = mf_ranges_find(&unit->functions, address);
	}
	if (!range)
		return false;
	/*
	 * The offset range->value is relative to the file that contains unit->code; with split DWARF, that is not the
	 * object's debug file.
	 */
	return dwarf_offdie(dwarf_cu_getdwarf(unit->code.cu), range->value, function);
}

static bool has_addresses(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges);
}

/*
 * Collects the inlined calls under @parent that contain @address, outermost first. Returns the resulting number of
 * calls in @calls.
 */
static size_t find_inlined(Dwarf_Die *parent, uint64_t address, Dwarf_Die *calls, size_t count,
			   struct walk *walk)
{
	Dwarf_Die die;

	if (count == MF_POSITIONS_MAX - 1 || !first_child(walk, parent, &die))
		return count;
	walk->depth++;
	do {
		size_t found;

		switch (dwarf_tag(&die)) {
		case DW_TAG_inlined_subroutine:
			if (dwarf_haspc(&die, address) != 1)
				continue;
			calls[count] = die;
			return find_inlined(&die, address, calls, count + 1, walk);
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
		case DW_TAG_with_stmt:
			if (has_addresses(&die) && dwarf_haspc(&die, address) != 1)
				continue;
			found = find_inlined(&die, address, calls, count, walk);
			if (found != count)
				return found;
			continue;
		default:
			continue;
		}
	} while (next_sibling(walk, &die));
	walk->depth--;
	return count;
}

static const char *path_of(const struct unit *unit, Dwarf_Word file)
{
	if (file >= unit->n_files)
		return NULL;
	return dwarf_filesrc(unit->files, file, NULL, NULL);
}

static Dwarf_Word number_of(Dwarf_Die *die, unsigned int attribute)
{
	Dwarf_Attribute found;
	Dwarf_Word value = 0;

	if (dwarf_attr(die, attribute, &found))
		dwarf_formudata(&found, &value);
	return value;
}

/* Returns the plain name of the inlined function, from the call itself or from its abstract origin. */
static const char *inlined_name(Dwarf_Die *call)
{
	Dwarf_Attribute found;
	const char *name = NULL;

	if (dwarf_attr_integrate(call, DW_AT_name, &found))
		name = dwarf_formstring(&found);
	return name ? name : "UnknownInlinedFun";
}

/* Returns the row of the line table that contains @address, or NULL. */
static Dwarf_Line *find_line(const struct unit *unit, uint64_t address)
{
	size_t low = 0, high = unit->n_lines;
	Dwarf_Line *line;
	bool end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		Dwarf_Addr start;

		if (dwarf_lineaddr(dwarf_onesrcline(unit->lines, middle), &start))
			return NULL;
		if (start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	line = dwarf_onesrcline(unit->lines, low - 1);
	if (dwarf_lineendsequence(line, &end) || end)
		return NULL;
	return line;
}

size_t mf_positions_find(struct mf_positions *positions, uint64_t address, bool inlines,
			 struct mf_position list[MF_POSITIONS_MAX])
{
	struct unit *unit = find_unit(positions, address);
	Dwarf_Die function, calls[MF_POSITIONS_MAX];
	struct walk walk = { 0 };
	size_t n_calls = 0;
	Dwarf_Line *line;
	int number;

	list[0] = (struct mf_position){ 0 };
	if (!unit)
		return 1;
	line = find_line(unit, address);
	if (line && dwarf_lineno(line, &number) == 0) {
		list[0].path = dwarf_linesrc(line, NULL, NULL);
		list[0].base = unit->directory;
		list[0].line = (unsigned int)number;
	}
	if (inlines && find_function(unit, address, &function))
		n_calls = find_inlined(&function, address, calls, 0, &walk);

	/*
	 * The line of the address itself is in the innermost inlined function. The DWARF entry of each inlined call
	 * gives the line of the call site, which is in the next outer function.
	 */
	for (size_t i = 0; i < n_calls; i++) {
		Dwarf_Die *call = &calls[n_calls - 1 - i];

		list[i].function = inlined_name(call);
		list[i + 1] = (struct mf_position){
			.path = path_of(unit, number_of(call, DW_AT_call_file)),
			.base = unit->directory,
			.line = (unsigned int)number_of(call, DW_AT_call_line),
		};
	}
	return n_calls + 1;
}
