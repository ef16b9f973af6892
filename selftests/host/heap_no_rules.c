// SPDX-License-Identifier: GPL-2.0
// In an object without unwind rules, stacks are unwound by frame pointers, whether or not the object has an
// .eh_frame_hdr.

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

#define COPY  "no_rules.copy.so"
#define CACHE "no_rules.cache"

FIXTURE(no_rules) {
	struct ctl_result result;
	char *text;
};

FIXTURE_VARIANT(no_rules) {
	uint32_t entries; /* number of entries in the table of .eh_frame_hdr, unless @no_table */
	bool no_table;
};

/* The unchanged library: its only FDE describes code after the functions that allocate. */
FIXTURE_VARIANT_ADD(no_rules, before_the_first_entry) {
	.entries = 1,
};

/* An empty table, which is what lld writes if no code has an FDE. */
FIXTURE_VARIANT_ADD(no_rules, empty_table) {
	.entries = 0,
};

/* No table, as with -Wl,--no-eh-frame-hdr: the rules are searched sequentially. */
FIXTURE_VARIANT_ADD(no_rules, no_table) {
	.no_table = true,
};

/*
 * Copies the test library to the file COPY and changes the copy's .eh_frame_hdr, the sorted table of its unwind rules:
 * sets the number of entries to @entries or, if @no_table, hides the table. Returns whether the copy was written and
 * the library's table has one entry.
 */
static bool copy_library(uint32_t entries, bool no_table)
{
	static _Alignas(16) char bytes[1 << 17];
	FILE *from = fopen(ctl_target("libheap_no_rules.so"), "rb"), *to = fopen(COPY, "wb");
	size_t size = from ? fread(bytes, 1, sizeof(bytes), from) : 0;
	const Elf64_Ehdr *head = (const void *)bytes;
	Elf64_Phdr *segments = (void *)(bytes + head->e_phoff);
	bool found = false;

	for (int i = 0; size > sizeof(*head) && size < sizeof(bytes) && i < head->e_phnum; i++) {
		/* The number of entries comes after four bytes of encodings and the address of .eh_frame. */
		uint32_t *count = (uint32_t *)(void *)(bytes + segments[i].p_offset + 8);

		if (segments[i].p_type != PT_GNU_EH_FRAME)
			continue;
		found = *count == 1;
		*count = entries;
		if (no_table)
			segments[i].p_type = PT_NULL;
	}
	found = found && to && fwrite(bytes, 1, size, to) == size;
	if (from)
		fclose(from);
	if (to)
		fclose(to);
	return found;
}

FIXTURE_SETUP(no_rules)
{
	setenv("MASSIF_VERIFY", "1", 1);
	setenv("XDG_CACHE_HOME", CACHE, 1);
	ASSERT_TRUE(copy_library(variant->entries, variant->no_table));
	ASSERT_EQ(0, mkdir(CACHE, 0755));
}

FIXTURE_TEARDOWN(no_rules)
{
	ctl_remove_files("massif.out");
	EXPECT_EQ(0, system("rm -rf " COPY " " CACHE));
	ctl_result_free(&self->result);
	free(self->text);
}

/* The second run uses the unwind rows cached by the first. */
TEST_F(no_rules, stack_is_complete)
{
	static const char *const frames[] = {
		": allocate_inner (", ": allocate_middle (", ": library_allocate (",
		": allocate (heap_no_rules.c:", ": main (heap_no_rules.c:",
	};

	for (int i = 0; i < 2; i++) {
		uint64_t stacks = 0, differ = 1;
		const char *at, *line;

		ctl_result_free(&self->result);
		free(self->text);
		CTL_RUN(&self->result, "massif-ctl", "-q", "--time-unit=B", "--unwind-cache=yes",
			"--massif-out-file=massif.out.no_rules", ctl_target("heap_no_rules"), "./" COPY);
		ASSERT_EQ(0, ctl_exit_code(&self->result));
		line = strstr(self->result.err, "verified ");
		ASSERT_NE(NULL, line);
		sscanf(line, "verified %" SCNu64 " stacks with libunwind, %" SCNu64, &stacks, &differ);
		EXPECT_LE(1000, stacks);
		EXPECT_EQ(0, differ);

		self->text = ctl_read_file("massif.out.no_rules");
		ASSERT_NE(NULL, self->text);
		at = strstr(self->text, "heap_tree=peak");
		for (size_t j = 0; at && j < sizeof(frames) / sizeof(frames[0]); j++) {
			const char *newline = strchr(at, '\n'), *found = strstr(at, frames[j]);

			/* In the tree, each function is on the line after its callee. */
			EXPECT_TRUE(found && newline && (!j || found < strchr(newline + 1, '\n'))) {
				TH_LOG("%s", frames[j]);
			}
			at = found;
		}
		EXPECT_NE(NULL, at);
	}
}

TEST_HARNESS_MAIN
