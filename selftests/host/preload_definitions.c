// SPDX-License-Identifier: GPL-2.0
// Finds functions that an object defines: dynamic symbols and symbols found only in its file, but nothing from a file
// that was replaced.

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "preload/core/definitions.h"
#include "selftests/lib/ctl_run.h"

static char paths[2][4096];

/* The object with the path @data->name, as the dynamic linker lists it. */
struct wanted {
	const char *name;
	struct dl_phdr_info info;
	bool found;
};

static int look(struct dl_phdr_info *info, size_t size, void *data)
{
	struct wanted *wanted = data;

	if (strcmp(info->dlpi_name, wanted->name))
		return 0;
	wanted->info = *info;
	wanted->found = true;
	return 1;
}

static void keep(const struct mf_definition *definition, void *data)
{
	*(struct mf_definition *)data = *definition;
}

static const char *const names[] = { "nothing", "allocate_in_a", "plugin_allocate" };

FIXTURE(definitions) {
	struct wanted wanted;
	struct mf_definitions all;
	void *handle;
};

FIXTURE_SETUP(definitions)
{
	snprintf(paths[0], sizeof(paths[0]), "%s", ctl_target("libheap_plugin_a.so"));
	snprintf(paths[1], sizeof(paths[1]), "%s", ctl_target("libheap_plugin_b.so"));
	self->handle = dlopen(paths[0], RTLD_NOW);
	ASSERT_NE(NULL, self->handle);
	self->wanted.name = paths[0];
	dl_iterate_phdr(look, &self->wanted);
	ASSERT_TRUE(self->wanted.found);
	ASSERT_TRUE(mf_definitions_open(&self->all, &self->wanted.info));
}

FIXTURE_TEARDOWN(definitions)
{
	dlclose(self->handle);
}

TEST_F(definitions, shown)
{
	struct mf_definition found = { 0 };

	mf_definitions_find(&self->all, "plugin_allocate", 7, keep, &found);
	EXPECT_EQ(dlsym(self->handle, "plugin_allocate"), found.address);
	EXPECT_EQ(7, found.name);
	EXPECT_LT(0, found.size);
	found.address = NULL;
	mf_definitions_find(&self->all, "allocate_in_a", 7, keep, &found);
	EXPECT_EQ(NULL, found.address);
}

TEST_F(definitions, in_the_file)
{
	struct mf_definition found = { 0 };

	errno = 77;
	mf_definitions_find_in_file(&self->all, names, 2, true, keep, &found);
	EXPECT_EQ(1, found.name);
	ASSERT_NE(NULL, found.address);
	EXPECT_LT((uint64_t)self->wanted.info.dlpi_addr, (uint64_t)found.address);
	found.address = NULL;
	mf_definitions_find_in_file(&self->all, names, 2, false, keep, &found);
	EXPECT_EQ(NULL, found.address);
	EXPECT_EQ(77, errno);
}

/* Functions are found by their full names, not by prefixes. */
TEST_F(definitions, in_the_file_by_whole_names)
{
	static const char *const near[] = { "allo", "allocate_in", "allocate_in_a_", "allocate_in_b",
					    "bllocate_in_a", "plugin_allocat" };
	struct mf_definition found = { 0 };

	mf_definitions_find_in_file(&self->all, near, sizeof(near) / sizeof(*near), true, keep, &found);
	EXPECT_EQ(NULL, found.address);
	mf_definitions_find_in_file(&self->all, &names[2], 1, false, keep, &found);
	EXPECT_EQ(dlsym(self->handle, "plugin_allocate"), found.address);
}

/* If the object's file has been replaced or deleted, or is not an ELF file, no functions are found in it. */
TEST_F(definitions, in_another_file)
{
	const char *const others[] = { paths[1], "/nonexistent", "/etc/passwd", "/dev/null", "/" };
	struct mf_definition found = { 0 };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		self->wanted.info.dlpi_name = others[i];
		mf_definitions_find_in_file(&self->all, names, 3, true, keep, &found);
		EXPECT_EQ(NULL, found.address);
	}
}

/* If the file is truncated or has changed bytes, nothing outside it is read. */
TEST_F(definitions, in_a_damaged_file)
{
	static unsigned char whole[1 << 20], bytes[1 << 20];
	struct mf_definition found;
	size_t size;
	FILE *file = fopen(paths[0], "rb");

	ASSERT_NE(NULL, file);
	size = fread(whole, 1, sizeof(whole), file);
	fclose(file);
	ASSERT_LT(size, sizeof(whole));
	self->wanted.info.dlpi_name = "damaged.tmp";
	srand(3);
	for (int i = 0; i < 2000; i++) {
		/* The ELF header is at the start of the file, and the section headers are at its end. */
		size_t length = i % 3 ? size : (size_t)rand() % (size + 1);

		memcpy(bytes, whole, size);
		for (int n = rand() % 8; n >= 0; n--) {
			size_t at = (size_t)rand() % (i % 2 ? 64 : 2048);

			bytes[i % 4 < 2 ? at : size - 1 - at] = (unsigned char)(rand() >> 8);
		}
		file = fopen("damaged.tmp", "wb");
		ASSERT_NE(NULL, file);
		ASSERT_EQ(length, fwrite(bytes, 1, length, file));
		fclose(file);
		found.address = NULL;
		mf_definitions_find_in_file(&self->all, names, 3, true, keep, &found);
	}
	unlink("damaged.tmp");
}

TEST_HARNESS_MAIN
