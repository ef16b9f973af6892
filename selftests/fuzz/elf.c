// SPDX-License-Identifier: GPL-2.0
// Fuzzes the code with which the aggregator reads unwind rules, symbol names and suppressions from ELF files. Each input is
// used as an ELF file.

#include "selftests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/file.h"
#include "elf/summary.h"
#include "elf/text_function.h"
#include "base/held.h"
#include "symbols/symbolizer.h"
#include "elf/map.h"
#include "cfi/rows.h"

#define PLACES 16 /* number of addresses whose names are looked up */

/*
 * Looks up every entry of the search tables in @summary. The unwind rules that are found must lie within those of the
 * file.
 */
static void search_summary(const struct mf_elf_summary *summary, uint64_t places[PLACES])
{
	struct mf_cfi cfi = mf_elf_summary_cfi(summary);

	for (uint32_t i = 0; i < PLACES; i++)
		if (!mf_elf_summary_address(summary, i * 64, &places[i]))
			places[i] = summary->entry + i * 16;
	for (int table = 0; table < MF_CFI_TABLES; table++)
		for (uint32_t i = 0; i < cfi.n_entries[table]; i++) {
			uint64_t start = cfi.base + cfi.entries[table][i].start;
			struct mf_cfi_found found;

			places[i % PLACES] = start;
			if (mf_cfi_find(&cfi, start, &found))
				fuzz_require(start - found.begin < found.size && found.rules < cfi.size);
		}
}

/*
 * Corrupts @summary in the way that a compromised child of massif-ctl could, at pseudo-random offsets that depend on
 * the file.
 */
static void damage_summary(struct mf_elf_summary *summary, size_t size)
{
	uint64_t seed = summary->entry ^ summary->rules_bytes, unused[PLACES];

	for (int i = 0; i < 32; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		((uint8_t *)summary)[seed % size] ^= (uint8_t)(1u << (seed >> 61));
		if (mf_elf_summary_is_sound(summary, size))
			search_summary(summary, unused);
	}
}

/* Reads the texts of functions, of which the seeds have one with a text and one that computes. */
static void read_texts(struct mf_elf_file *binary)
{
	static const char *const names[] = { "__lsan_default_suppressions", "entry" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *text = NULL;

		if (mf_text_function_read(binary, names[i], &text) == MF_TEXT_FUNCTION_FOUND)
			fuzz_require(strlen(text) <= MF_TEXT_FUNCTION_MAX);
	}
}

static void read_binary(const char *path, struct mf_object *object, uint64_t places[PLACES])
{
	struct mf_held *held = mf_held_create(4);
	struct mf_held_file *file = mf_held_take_path(held, path);
	struct mf_elf_file *binary = file ? mf_elf_file_open(file) : NULL;
	size_t size;
	struct mf_elf_summary *summary = binary ? mf_elf_summary_make(binary, &size) : NULL;

	if (summary) {
		fuzz_require(mf_elf_summary_is_sound(summary, size));
		mf_elf_file_build_id(binary, object);
		search_summary(summary, places);
		damage_summary(summary, size);
	}
	free(summary);
	if (binary)
		read_texts(binary);
	mf_elf_file_close(binary);
	mf_held_release(held, file);
	mf_held_destroy(held);
}

static void read_rows(const struct mf_object *object, const uint64_t places[PLACES])
{
	struct mf_elf_map map;

	if (mf_elf_map_open(&map, object))
		return;
	for (int i = 0; i < PLACES; i++)
		mf_rows_find(&map.object, places[i] + map.bias);
	mf_elf_map_search(&map);
	mf_elf_map_close(&map);
}

static void read_names(const struct mf_object *object, const uint64_t places[PLACES])
{
	const struct mf_object objects[] = { { .kind = MF_OBJECT_UNKNOWN }, *object };
	const struct mf_symbolizer_options options = { .demangle = true, .inlines = true, .unconfined = true };
	struct mf_symbolizer *symbolizer;
	struct mf_error err;

	if (mf_symbolizer_create(objects, 2, &options, &symbolizer, &err))
		return;
	for (int i = 0; i < PLACES; i++) {
		const struct mf_location *locations;
		struct mf_frame frame = { .pc = places[i], .object = 1 };
		size_t n = mf_symbolizer_resolve(symbolizer, frame, &locations);

		fuzz_require(n >= 1 && locations);
	}
	mf_symbolizer_destroy(symbolizer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = fuzz_file(data, size);
	struct mf_object object = { .kind = MF_OBJECT_FILE, .end = UINT64_MAX };
	uint64_t places[PLACES] = { 0 };
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	object.path = path;
	read_binary(path, &object, places);
	read_rows(&object, places);
	read_names(&object, places);
	close(fd);
	return 0;
}
