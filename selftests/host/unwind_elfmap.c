// SPDX-License-Identifier: GPL-2.0
// Reading an object's file for its unwind tables: a valid file, one that is truncated while being read, and files
// damaged at arbitrary positions.

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/ctl_run.h"
#include "elf/map.h"

#define DAMAGED "elfmap.tmp"
#define HEADERS 1024u /* sizes of the file's headers and segments, in bytes */
#define FILES	1500

static unsigned char whole[1 << 22], bytes[1 << 22];
static uint64_t seed = 1;

static uint64_t below(uint64_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

static bool write_damaged(size_t size)
{
	FILE *file = fopen(DAMAGED, "wb");
	bool done = file && fwrite(bytes, 1, size, file) == size;

	return file && !fclose(file) && done;
}

/*
 * Finds the 20-byte build id in the first @size bytes of @whole and copies it to @object. Returns whether there is one.
 */
static bool find_build_id(size_t size, struct mf_object *object)
{
	static const unsigned char note[] = { 4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0 };
	const unsigned char *found = memmem(whole, size, note, sizeof(note));

	if (!found)
		return false;
	memcpy(object->build_id, found + sizeof(note), 20);
	object->build_id_size = 20;
	return true;
}

/* Looks up @n rows at random addresses of the object. */
static void use(const struct mf_elf_map *map, int n)
{
	while (n--)
		mf_rows_find(&map->object, (uintptr_t)map->object.start + below(map->size));
}

TEST(damaged_files)
{
	struct mf_object object = { .path = DAMAGED };
	struct mf_elf_map map;
	FILE *file = fopen(ctl_target("heap_stacks"), "rb");
	size_t size, opened = 0;

	ASSERT_NE(NULL, file);
	size = fread(whole, 1, sizeof(whole), file);
	fclose(file);
	ASSERT_LT(HEADERS, size);
	ASSERT_LT(size, sizeof(whole));
	ASSERT_TRUE(find_build_id(size, &object));
	memcpy(bytes, whole, size);
	ASSERT_TRUE(write_damaged(size));
	ASSERT_EQ(0, mf_elf_map_open(&map, &object));
	use(&map, 10000);
	mf_elf_map_close(&map);
	/* The file is truncated in place. */
	ASSERT_EQ(0, mf_elf_map_open(&map, &object));
	ASSERT_EQ(0, truncate(DAMAGED, 0));
	use(&map, 10000);
	mf_elf_map_close(&map);
	ASSERT_TRUE(write_damaged(size));
	object.build_id[7] ^= 1;
	EXPECT_EQ(-ESTALE, mf_elf_map_open(&map, &object));
	object.build_id[7] ^= 1;
	for (int i = 0; i < FILES; i++) {
		size_t length = i % 5 ? size : below(size + 1);

		memcpy(bytes, whole, size);
		for (uint64_t n = below(i % 3 ? 4 : 40) + 1; n; n--)
			bytes[below(i % 2 ? HEADERS : size)] = (unsigned char)below(256);
		ASSERT_TRUE(write_damaged(length));
		if (mf_elf_map_open(&map, &object))
			continue;
		opened++;
		use(&map, 200);
		mf_elf_map_close(&map);
	}
	/* Some but not all of the damaged files must have been opened; otherwise the test proves nothing. */
	EXPECT_LT(FILES / 20, opened);
	EXPECT_GT(FILES, opened);
	unlink(DAMAGED);
}

/* Writes a file with a build id and @n code segments of a page each. */
static bool write_segments(unsigned int n, struct mf_object *object)
{
	static const unsigned char id[] = { 4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 1, 2, 3, 4, 5, 6, 7,
					    8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 };
	Elf64_Ehdr *head = (void *)bytes;
	Elf64_Phdr *segment = (void *)(bytes + sizeof(*head));
	size_t at = sizeof(*head) + (n + 1) * sizeof(*segment), size = at + sizeof(id);

	memset(bytes, 0, size);
	*head = (Elf64_Ehdr){
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN, .e_machine = EM_X86_64,
		.e_phoff = sizeof(*head), .e_phentsize = sizeof(*segment), .e_phnum = (Elf64_Half)(n + 1),
	};
	segment[0] = (Elf64_Phdr){
		.p_type = PT_NOTE, .p_offset = at, .p_vaddr = at, .p_filesz = sizeof(id), .p_memsz = sizeof(id),
	};
	/* Each code segment covers the whole file. */
	for (unsigned int i = 1; i <= n; i++)
		segment[i] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = (i - 1) * 0x10000ul,
					   .p_filesz = size, .p_memsz = size };
	memcpy(bytes + at, id, sizeof(id));
	memcpy(object->build_id, id + 16, 20);
	object->build_id_size = 20;
	return write_damaged(size);
}

#define SEGMENTS_MAX 64 /* maximum number of segments in a file, including the one that contains the build id */

/*
 * Only a limited number of code segments is searched for Valgrind's client requests. If a file has more code segments,
 * it is unknown whether it contains any request. If a file has too many segments of any kind, it is refused.
 */
TEST(segments)
{
	static const struct {
		unsigned int n;
		int opens, code;
	} cases[] = {
		{ 1, 0, 1 },
		{ MF_ELFMAP_CODE_MAX, 0, MF_ELFMAP_CODE_MAX },
		{ MF_ELFMAP_CODE_MAX + 1, 0, 0 },
		{ SEGMENTS_MAX - 1, 0, 0 },
		{ SEGMENTS_MAX, -ENOEXEC, 0 },
		{ 10 * MF_ELFMAP_CODE_MAX, -ENOEXEC, 0 },
		{ 10 * SEGMENTS_MAX, -ENOEXEC, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct mf_object object = { .path = DAMAGED };
		struct mf_elf_map map;

		ASSERT_TRUE(write_segments(cases[i].n, &object));
		ASSERT_EQ(cases[i].opens, mf_elf_map_open(&map, &object)) {
			TH_LOG("%u segments", cases[i].n);
		}
		if (cases[i].opens)
			continue;
		EXPECT_EQ(cases[i].code, map.n_code);
		EXPECT_EQ(cases[i].code > 0, mf_elf_map_search(&map) > 0);
		mf_elf_map_close(&map);
	}
	unlink(DAMAGED);
}

/*
 * The address range from the first to the last segment of a file may be up to 2^32 bytes long, because row files (which
 * hold cached unwind rules) store addresses as 32-bit numbers.
 */
TEST(span)
{
	static const struct {
		uint64_t last;
		int opens;
	} cases[] = { { 1ull << 32, 0 }, { (1ull << 32) + 1, -ENOEXEC }, { 10ull << 32, -ENOEXEC } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct mf_object object = { .path = DAMAGED };
		Elf64_Phdr *segment = (Elf64_Phdr *)(bytes + sizeof(Elf64_Ehdr));
		struct mf_elf_map map;

		ASSERT_TRUE(write_segments(2, &object));
		segment[2].p_vaddr = cases[i].last - segment[2].p_memsz;
		ASSERT_TRUE(write_damaged((size_t)segment[2].p_filesz));
		ASSERT_EQ(cases[i].opens, mf_elf_map_open(&map, &object)) {
			TH_LOG("up to %#llx", (unsigned long long)cases[i].last);
		}
		if (!cases[i].opens)
			mf_elf_map_close(&map);
	}
	unlink(DAMAGED);
}

TEST_HARNESS_MAIN
