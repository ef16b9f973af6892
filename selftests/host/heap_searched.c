// SPDX-License-Identifier: GPL-2.0
// If an object contains no client requests, massif caches this fact for later programs that use the object. An object
// whose contents have changed is searched again.
//
// To find out whether massif uses a cache file, the test forges one for a program that does contain a client request;
// the forged file says that it contains none. If massif uses this file, the request has no effect.

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/ctl_run.h"
#include "elf/map.h"
#include "cfi/request_site.h"
#include "cfi/rowfile.h"

#define PLACE "searched.tmp"
#define COPY  PLACE "/copy"
#define ROWS  PLACE "/massif/6d61737369662061736b.rows"

/* The build id of both target programs. */
static const uint8_t id[] = "massif ask";

#define ID_SIZE (sizeof(id) - 1)

FIXTURE(searched) {
	struct ctl_result result;
	char *text;
};

FIXTURE_SETUP(searched)
{
	char here[2048], place[4096];

	ASSERT_NE(NULL, getcwd(here, sizeof(here)));
	snprintf(place, sizeof(place), "%s/" PLACE, here);
	ASSERT_EQ(0, system("rm -rf " PLACE));
	ASSERT_EQ(0, mkdir(PLACE, 0755));
	setenv("XDG_CACHE_HOME", place, 1);
}

FIXTURE_TEARDOWN(searched)
{
	ctl_result_free(&self->result);
	free(self->text);
	ctl_remove_files("massif.out");
	if (system("rm -rf " PLACE))
		abort();
}

static struct mf_object object_at(const char *path)
{
	struct mf_object object = { .path = path, .build_id_size = ID_SIZE };

	memcpy(object.build_id, id, ID_SIZE);
	return object;
}

/*
 * Returns the size of the program's code, or 0 if the program's file is not as expected. *@clean is set to the result
 * of searching this code for client requests.
 */
static uint64_t code_of(const char *path, uint64_t *clean)
{
	struct mf_object object = object_at(path);
	struct mf_elf_map map;
	uint64_t bytes = 0;

	if (mf_elf_map_open(&map, &object))
		return 0;
	for (int i = 0; i < map.n_code; i++)
		bytes += map.code[i].size;
	*clean = mf_elf_map_search(&map);
	mf_elf_map_close(&map);
	return bytes;
}

/*
 * Runs @target, which makes one client request. Returns whether the request had an effect, or -1 on any other failure.
 */
static int hears(FIXTURE_DATA(searched) *self, const char *option, const char *target)
{
	ctl_result_free(&self->result);
	free(self->text);
	CTL_RUN(&self->result, "massif-ctl", "-q", option, "--time-unit=B",
		"--massif-out-file=massif.out.searched", ctl_target(target));
	self->text = ctl_read_file("massif.out.searched");
	if (ctl_exit_code(&self->result) || self->result.out[0] || self->result.err[0] || !self->text)
		return -1;
	return strstr(self->text, "mem_heap_B=5000") != NULL;
}

/*
 * Returns the size of the searched code, as recorded in the cache file that both target programs share, or 0 if there
 * is no such file.
 */
static uint64_t noted(void)
{
	struct mf_rowfile *file;
	uint64_t bytes;
	size_t size;

	file = mf_rowfile_read(AT_FDCWD, ROWS, id, ID_SIZE, &size);
	if (!file)
		return 0;
	bytes = file->searched_bytes;
	munmap(file, size);
	return bytes;
}

static bool put(uint64_t bytes)
{
	struct mf_rowfile file;
	int fd;
	bool done;

	mf_rowfile_init(&file, id, ID_SIZE);
	file.searched_bytes = bytes;
	mf_rowfile_seal(&file);
	mkdir(PLACE "/massif", 0700);
	unlink(ROWS);
	fd = open(ROWS, O_WRONLY | O_CREAT | O_EXCL, 0600);
	done = fd >= 0 && write(fd, &file, sizeof(file)) == sizeof(file);
	close(fd);
	return done;
}

TEST_F(searched, once)
{
	uint64_t clean, bytes = code_of(ctl_target("heap_ask_nothing"), &clean);
	struct stat before, after;

	ASSERT_LT(1300000, bytes);
	EXPECT_EQ(bytes, clean);
	EXPECT_EQ(0, hears(self, "--unwind-cache=no", "heap_ask_nothing"));
	EXPECT_EQ(0, noted());
	EXPECT_EQ(0, hears(self, "--client-requests=no", "heap_ask_nothing"));
	EXPECT_EQ(0, noted());
	EXPECT_EQ(0, hears(self, "--unwind-cache=yes", "heap_ask_nothing"));
	EXPECT_EQ(bytes, noted());
	ASSERT_EQ(0, stat(ROWS, &before));
	EXPECT_EQ(0, hears(self, "--unwind-cache=yes", "heap_ask_nothing"));
	ASSERT_EQ(0, stat(ROWS, &after));
	EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST_F(searched, what_has_requests_each_time)
{
	uint64_t clean, bytes = code_of(ctl_target("heap_ask"), &clean);

	ASSERT_LT(1300000, bytes);
	EXPECT_EQ(0, clean);
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(1, hears(self, "--unwind-cache=yes", "heap_ask"));
		EXPECT_EQ(0, noted());
	}
}

TEST_F(searched, is_used)
{
	uint64_t clean, bytes = code_of(ctl_target("heap_ask"), &clean);

	ASSERT_TRUE(put(bytes));
	EXPECT_EQ(0, hears(self, "--unwind-cache=yes", "heap_ask"));
	EXPECT_EQ(1, hears(self, "--unwind-cache=no", "heap_ask"));
	/*
	 * A cache file is ignored if the code size recorded in it differs from the size of the code in the program's
	 * file.
	 */
	ASSERT_TRUE(put(bytes + 1));
	EXPECT_EQ(1, hears(self, "--unwind-cache=yes", "heap_ask"));
	ASSERT_TRUE(put(0));
	EXPECT_EQ(1, hears(self, "--unwind-cache=yes", "heap_ask"));
}

TEST_F(searched, another_of_that_build_id)
{
	EXPECT_EQ(0, hears(self, "--unwind-cache=yes", "heap_ask_nothing"));
	EXPECT_NE(0, noted());
	EXPECT_EQ(1, hears(self, "--unwind-cache=yes", "heap_ask"));
	EXPECT_EQ(1, hears(self, "--unwind-cache=yes", "heap_ask"));
}

/* The file is read in pieces. A client request whose instructions span two pieces must be found. */
TEST_F(searched, wherever_it_stands)
{
	uint8_t sequence[MF_REQUEST_SITE_BYTES], old[sizeof(sequence)];
	struct mf_object object = object_at(COPY);
	struct mf_elf_map map;
	const uint8_t *site;
	uint64_t clean;
	char command[8192], *program;
	size_t size;
	int fd;

	/* Copy the instruction sequence of a client request from a program that makes one. */
	fd = open(ctl_target("heap_ask"), O_RDONLY);
	size = (size_t)lseek(fd, 0, SEEK_END);
	program = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	ASSERT_NE(MAP_FAILED, program);
	site = mf_request_site_find((const uint8_t *)program, size);
	ASSERT_NE(NULL, site);
	memcpy(sequence, site, sizeof(sequence));
	munmap(program, size);
	close(fd);

	snprintf(command, sizeof(command), "cp %s " COPY, ctl_target("heap_ask_nothing"));
	ASSERT_EQ(0, system(command));
	fd = open(COPY, O_RDWR);
	ASSERT_EQ(0, mf_elf_map_open(&map, &object));
	EXPECT_NE(0, mf_elf_map_search(&map));
	for (int i = 0; i < map.n_code; i++) {
		uint64_t start = map.code[i].offset, n = map.code[i].size;

		for (uint64_t at = 0; at + sizeof(sequence) <= n; at++) {
			/*
			 * Put the request's instructions at various offsets: around the end of the first piece that is
			 * read, at both ends of the code, and at a few other places.
			 */
			if (at > 3 && at % 300007 && at + sizeof(sequence) != n &&
			    (at < (1 << 20) - 40 || at > (1 << 20) + 3))
				continue;
			ASSERT_EQ(sizeof(old), pread(fd, old, sizeof(old), (off_t)(start + at)));
			ASSERT_EQ(sizeof(old), pwrite(fd, sequence, sizeof(old), (off_t)(start + at)));
			EXPECT_EQ(0, mf_elf_map_search(&map));
			ASSERT_EQ(sizeof(old), pwrite(fd, old, sizeof(old), (off_t)(start + at)));
		}
	}
	EXPECT_EQ(code_of(COPY, &clean), mf_elf_map_search(&map));
	mf_elf_map_close(&map);
	close(fd);
}

TEST_HARNESS_MAIN
