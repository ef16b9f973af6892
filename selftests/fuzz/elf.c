// SPDX-License-Identifier: GPL-2.0
// Damaged ELF files, as the aggregator reads them for rules and names. An input is a file.

#include "selftests/fuzz/fuzz.h"

#include <stdio.h>

#include "elf/file.h"
#include "base/held.h"
#include "symbols/symbolizer.h"
#include "elf/map.h"
#include "cfi/rows.h"

#define PLACES 16 /* addresses whose names are asked for */

static void read_binary(const char *path, struct mf_object *object, uint64_t places[PLACES])
{
	struct mf_held *held = mf_held_create(4);
	struct mf_held_file *file = mf_held_take_path(held, path);
	struct mf_elf_file *binary = file ? mf_elf_file_open(file) : NULL;
	uint64_t header, table, n;

	if (binary) {
		uint64_t entry = mf_elf_file_entry(binary);
		const struct mf_cfi *cfi = mf_elf_file_cfi(binary);
		int32_t pair[2];

		mf_elf_file_build_id(binary, object);
		for (uint32_t i = 0; i < PLACES; i++)
			if (!mf_elf_file_address(binary, i * 64, &places[i]))
				places[i] = entry + i * 16;
		if (mf_elf_file_unwind_table(binary, &header, &table, &n))
			mf_elf_file_read(binary, table, pair, sizeof(pair));
		if (cfi)
			for (size_t i = 0; i + 8 <= cfi->size; i += 8)
				places[i % PLACES] ^= cfi->bytes[i];
	}
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
