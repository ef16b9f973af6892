// SPDX-License-Identifier: GPL-2.0
// Reading /proc/PID/smaps: what the kernel prints, also while mappings change.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "residency/smaps.h"

#define HEAD(start, end, name) start "-" end " rw-p 00000000 00:00 0 " name "\n"
#define SIZES(rss) "Size: 100 kB\nRss: " rss " kB\nPss: 1 kB\nShared_Clean: 1 kB\nShared_Dirty: 2 kB\nSwap: 3 kB\n" \
		   "AnonHugePages: 2048 kB\nVmFlags: rd wr mr\n"

struct expected {
	uint64_t start, end, rss;
	const char *path;
};

static void compare(struct __test_metadata *_metadata, const char *text, const struct expected *expected, size_t n)
{
	struct mf_smaps smaps = { .fd = memfd_create("smaps", MFD_CLOEXEC) };
	struct mf_smaps_mapping mapping;

	ASSERT_EQ(strlen(text), pwrite(smaps.fd, text, strlen(text), 0));
	for (size_t i = 0; i < n; i++) {
		ASSERT_TRUE(mf_smaps_next(&smaps, &mapping));
		EXPECT_EQ(expected[i].start, mapping.map.start);
		EXPECT_EQ(expected[i].end, mapping.map.end);
		EXPECT_EQ(expected[i].rss * 1024, mapping.sizes.rss);
		EXPECT_EQ(3 * 1024, mapping.sizes.shared);
		EXPECT_EQ(3 * 1024, mapping.sizes.swap);
		EXPECT_EQ(2048 * 1024, mapping.sizes.huge);
		EXPECT_STREQ(expected[i].path, mapping.map.path);
		EXPECT_STREQ("rw-p", mapping.map.rights);
	}
	EXPECT_FALSE(mf_smaps_next(&smaps, &mapping));
	mf_smaps_close(&smaps);
}

TEST(mappings_that_rest)
{
	static const struct expected expected[] = {
		{ 0x1000, 0x3000, 4, "[heap]" }, { 0x3000, 0x9000, 8, "" }, { 0xa000, 0xb000, 0, "/lib/a" } };

	compare(_metadata, HEAD("1000", "3000", "[heap]") SIZES("4") HEAD("3000", "9000", "") SIZES("8")
		HEAD("a000", "b000", "/lib/a") SIZES("0"), expected, 3);
}

/* The kernel lists a mapping again if it has grown since it was listed. The last time counts. */
TEST(a_mapping_that_grows)
{
	static const struct expected expected[] = { { 0x1000, 0x7000, 24, "[heap]" }, { 0xa000, 0xb000, 4, "" } };

	compare(_metadata, HEAD("1000", "3000", "[heap]") SIZES("8") HEAD("1000", "5000", "[heap]") SIZES("16")
		HEAD("1000", "7000", "[heap]") SIZES("24") HEAD("a000", "b000", "") SIZES("4"), expected, 2);
}

/* A listing of many times what is read at once, so that a read ends within all kinds of lines; paths of all lengths. */
TEST(more_than_is_read_at_once)
{
	const size_t n = 5000;
	struct expected *expected = calloc(n, sizeof(*expected));
	char *text = NULL, *paths = calloc(n, 4200);
	size_t length;
	FILE *out = open_memstream(&text, &length);

	for (size_t i = 0; i < n; i++) {
		char *path = paths + i * 4200;

		memset(path, 'x', i * 7 % 4096);
		expected[i] = (struct expected){ i << 12, (i + 1) << 12, i % 100, path };
		fprintf(out, "%08zx-%08zx rw-p 00000000 00:00 0 %*s%s\n", i << 12, (i + 1) << 12, (int)(i % 40), "", path);
		fprintf(out, "Rss: %12zu kB\nShared_Clean: 3 kB\nSwap: 3 kB\nSwapPss: 9 kB\nAnonHugePages: 2048 kB\n", i % 100);
	}
	fclose(out);
	compare(_metadata, text, expected, n);
	free(expected);
	free(paths);
	free(text);
}

TEST_HARNESS_MAIN
