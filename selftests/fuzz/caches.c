// SPDX-License-Identifier: GPL-2.0
// Fuzzes the readers of the files in the user's cache directory: unwind rules and symbol names. An input is one byte
// that selects the kind of file, and the file's contents. The fuzzer corrects the checksum.

#include "selftests/fuzz/fuzz.h"

#include <libdeflate.h>

#include "symbols/namefile.h"
#include "cfi/rowfile.h"

static const uint8_t build_id[] = { 1, 2, 3, 4, 5, 6, 7, 8 };

static void read_rows(const uint8_t *data, size_t size)
{
	size_t n = size / sizeof(struct mf_rowfile_row);
	struct mf_rowfile *file = calloc(1, mf_rowfile_size((uint32_t)n));

	if (!file || n > MF_ROWFILE_ROWS_MAX)
		abort();
	mf_rowfile_init(file, build_id, sizeof(build_id));
	file->n_rows = (uint32_t)n;
	memcpy(file->rows, data, n * sizeof(file->rows[0]));
	mf_rowfile_seal(file);
	if (mf_rowfile_is_right(file, mf_rowfile_size((uint32_t)n), build_id, sizeof(build_id)))
		for (size_t i = 0; i < n; i++) {
			const struct mf_cfi_rule *rule = mf_rowfile_find(file, file->rows[i].start);

			fuzz_require(rule == &file->rows[i].rule && mf_rowfile_holds(rule));
			mf_rowfile_find(file, file->rows[i].end);
		}
	free(file);
}

/* Makes a valid cache file with a few symbol names. */
static struct mf_namefile *make_names(const struct mf_object *object, size_t *size)
{
	struct mf_namefile_draft draft = { 0 };
	struct mf_sources sources = { .count = 1, .paths = { object->path } };
	struct mf_namefile *file;

	for (uint32_t i = 0; i < 8; i++) {
		uint32_t function = mf_namefile_add_text(&draft, "function"), other = mf_namefile_add_text(&draft, "file.c");

		mf_namefile_add_record(&draft, 16 * i, function, i);
		for (uint32_t j = 0; j < i % 3; j++)
			mf_namefile_add_position(&draft, (struct mf_namefile_position){ function, 0, other, 10 + j });
	}
	file = mf_namefile_make(&draft, object, &sources, size);
	mf_namefile_draft_deinit(&draft);
	return file;
}

/* Sets the checksum, which covers everything except itself. */
static void seal_names(struct mf_namefile *file, size_t size)
{
	struct mf_namefile head = *file;

	head.sum = 0;
	file->sum = libdeflate_crc32(libdeflate_crc32(0, &head, sizeof(head)), file->records, size - sizeof(head));
}

static size_t look_at(const char *text)
{
	return text ? strlen(text) : 0;
}

static void use_names(const struct mf_namefile *file, const struct mf_object *object)
{
	struct mf_namefile_draft draft = { 0 };
	struct mf_namefile *again;
	struct mf_sources sources;
	size_t size;

	mf_namefile_sources(file, &sources);
	for (uint32_t i = 0; i < sources.count; i++)
		look_at(sources.paths[i]);
	for (uint64_t address = 0; address < 160; address += 8) {
		const struct mf_namefile_record *record = mf_namefile_find(file, address);

		if (!record)
			continue;
		look_at(mf_namefile_text(file, record->function));
		for (uint32_t i = 0; i < record->count; i++) {
			const struct mf_namefile_position *position = mf_namefile_position(file, record, i);

			look_at(mf_namefile_text(file, position->function));
			look_at(mf_namefile_text(file, position->directory));
			look_at(mf_namefile_text(file, position->file));
		}
	}
	mf_namefile_add_others(&draft, file);
	again = mf_namefile_make(&draft, object, &sources, &size);
	fuzz_require(!again || mf_namefile_is_right(again, size, object));
	free(again);
	mf_namefile_draft_deinit(&draft);
}

static void read_names(struct fuzz_input *input)
{
	const struct mf_object object = {
		.kind = MF_OBJECT_FILE,
		.path = "/lib/libexample.so",
		.build_id = { 1, 2, 3, 4, 5, 6, 7, 8 },
		.build_id_size = sizeof(build_id),
	};
	size_t size;
	struct mf_namefile *file = make_names(&object, &size);

	if (!file)
		return;
	while (input->left) {
		uint16_t at = fuzz_u16(input) % size;
		uint8_t length = fuzz_u8(input) % 16;

		fuzz_take(input, (char *)file + at, length < size - at ? length : size - at);
	}
	seal_names(file, size);
	if (mf_namefile_is_right(file, size, &object))
		use_names(file, &object);
	free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };

	if (fuzz_u8(&input) & 1)
		read_names(&input);
	else
		read_rows(input.at, input.left);
	return 0;
}
