// SPDX-License-Identifier: GPL-2.0
// Tests realloc(p, 0) with an allocator that only frees the block and with one that returns a new block of size 0.
// Checks how the call is counted and how it changes the heap.

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

#define OUT "z.out"

FIXTURE(zero) {
	struct ctl_result result;
	char *file;
};

FIXTURE_SETUP(zero)
{
	unlink(OUT);
}

FIXTURE_TEARDOWN(zero)
{
	unsetenv("LD_PRELOAD");
	free(self->file);
	ctl_result_free(&self->result);
}

FIXTURE_VARIANT(zero) {
	const char *option;
	const char *library; /* library with the program's allocator; NULL: glibc's allocator */
	unsigned int allocs, reallocs, frees;
	const char *heaps; /* expected heap bytes of all snapshots, each followed by a space */
};

/* glibc's realloc(p, 0) frees the block and returns NULL. */
FIXTURE_VARIANT_ADD(zero, freed) {
	.option = "--realloc-zero-bytes-frees=yes",
	.allocs = 2, .frees = 2,
	.heaps = "0 3000 4000 4000 3000 0 ",
};

FIXTURE_VARIANT_ADD(zero, freed_all_the_same) {
	.option = "--realloc-zero-bytes-frees=no",
	.allocs = 2, .frees = 2,
	.heaps = "0 3000 4000 4000 3000 0 ",
};

/* The library's realloc(p, 0) returns a new block of size 0. */
FIXTURE_VARIANT_ADD(zero, freed_and_allocated) {
	.option = "--realloc-zero-bytes-frees=yes", .library = "libctl_zero.so",
	.allocs = 3, .frees = 3,
	.heaps = "0 3000 4000 4000 3000 3000 3000 0 ",
};

FIXTURE_VARIANT_ADD(zero, resized) {
	.option = "--realloc-zero-bytes-frees=no", .library = "libctl_zero.so",
	.allocs = 2, .reallocs = 1, .frees = 2,
	.heaps = "0 3000 4000 4000 3001 3000 0 ",
};

/* Returns the mem_heap_B values of all snapshots in @text, each followed by a space. The caller frees the string. */
static char *heaps_of(const char *text)
{
	static const char field[] = "mem_heap_B=";
	char *heaps = NULL;
	size_t size;
	FILE *out = open_memstream(&heaps, &size);

	while ((text = strstr(text, field))) {
		text += strlen(field);
		fprintf(out, "%.*s ", (int)strcspn(text, "\n"), text);
	}
	fclose(out);
	return heaps;
}

static unsigned int count_of(const char *err, const char *label)
{
	const char *at = strstr(err, label);

	return at ? (unsigned int)strtoul(at + strlen(label), NULL, 10) : 999;
}

TEST_F(zero, counts)
{
	char *heaps;

	if (variant->library)
		setenv("LD_PRELOAD", ctl_target(variant->library), 1);
	CTL_RUN(&self->result, "massif-ctl", "-q", "--time-unit=B", "--stats=yes",
		"--massif-out-file=" OUT, variant->option, ctl_target("ctl_zero"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_EQ(variant->allocs, count_of(self->result.err, "Massif: heap allocs:"));
	EXPECT_EQ(variant->reallocs, count_of(self->result.err, "Massif: heap reallocs:"));
	EXPECT_EQ(variant->frees, count_of(self->result.err, "Massif: heap frees:"));
	self->file = ctl_read_file(OUT);
	ASSERT_NE(NULL, self->file);
	heaps = heaps_of(self->file);
	EXPECT_STREQ(variant->heaps, heaps);
	free(heaps);
}

TEST_HARNESS_MAIN
