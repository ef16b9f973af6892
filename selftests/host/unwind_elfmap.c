// SPDX-License-Identifier: GPL-2.0
// An object's file, read for its unwind tables: the right one, one that is cut short meanwhile, and
// files that are damaged anywhere.

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/ctl_run.h"
#include "unwind/elfmap.h"

#define DAMAGED "elfmap.tmp"
#define HEADERS 1024u /* bytes, of the file and of its segments */
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

/* The build id of a file, which links as ours do: 20 bytes. */
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

/* Looks for rows everywhere. */
static void use(const struct mf_elfmap *map, int n)
{
	while (n--)
		mf_rows_find(&map->object, (uintptr_t)map->object.start + below(map->size));
}

TEST(damaged_files)
{
	struct mf_object object = { .path = DAMAGED };
	struct mf_elfmap map;
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
	ASSERT_EQ(0, mf_elfmap_open(&map, &object));
	use(&map, 10000);
	mf_elfmap_close(&map);
	/* Somebody makes it anew, in place. */
	ASSERT_EQ(0, mf_elfmap_open(&map, &object));
	ASSERT_EQ(0, truncate(DAMAGED, 0));
	use(&map, 10000);
	mf_elfmap_close(&map);
	ASSERT_TRUE(write_damaged(size));
	object.build_id[7] ^= 1;
	EXPECT_EQ(-ESTALE, mf_elfmap_open(&map, &object));
	object.build_id[7] ^= 1;
	for (int i = 0; i < FILES; i++) {
		size_t length = i % 5 ? size : below(size + 1);

		memcpy(bytes, whole, size);
		for (uint64_t n = below(i % 3 ? 4 : 40) + 1; n; n--)
			bytes[below(i % 2 ? HEADERS : size)] = (unsigned char)below(256);
		ASSERT_TRUE(write_damaged(length));
		if (mf_elfmap_open(&map, &object))
			continue;
		opened++;
		use(&map, 200);
		mf_elfmap_close(&map);
	}
	/* Or the test shows nothing. */
	EXPECT_LT(FILES / 20, opened);
	EXPECT_GT(FILES, opened);
	unlink(DAMAGED);
}

TEST_HARNESS_MAIN
