// SPDX-License-Identifier: GPL-2.0
// Makes the private memory of a store one that other processes can read.

#include "pages/share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

enum {
	PAGE = 4096,
	ENTRIES = 512, /* entries of /proc/self/pagemap that are read at once */
};

/* The page is in memory, or swapped out: it is not one that was never touched. */
#define IS_USED (1ull << 63 | 1ull << 62)

static int create_file(const struct mf_store *store, struct mf_error *err)
{
	const struct mf_region *regions = store->header->regions;
	int made = memfd_create("massif-session", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	uint64_t size = 0;

	for (int i = 0; i < MF_REGION_COUNT; i++)
		if (regions[i].offset + regions[i].size > size)
			size = regions[i].offset + regions[i].size;
	if (made >= 0 && !fchmod(made, 0600) && !ftruncate(made, (off_t)size) &&
	    !fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return made;
	mf_error_set(err, -errno, "cannot create a file in memory: %s", strerror(errno));
	if (made >= 0)
		close(made);
	return -EIO;
}

/* Copies the page at @from to @offset of @memory. */
static int copy_page(int memory, const char *from, uint64_t offset)
{
	ssize_t size = pwrite(memory, from, PAGE, (off_t)offset);

	return size == PAGE ? 0 : size < 0 ? -errno : -ENOSPC;
}

/* Copies the pages of region @number that were ever touched. @pagemap describes this process's pages. */
static int copy_region(const struct mf_store *store, int number, int memory, int pagemap)
{
	const char *start = store->regions[number];
	uint64_t n = store->sizes[number] / PAGE, offset = store->header->regions[number].offset;
	uint64_t entries[ENTRIES];
	int code = 0;

	for (uint64_t i = 0; i < n && !code; i += ENTRIES) {
		uint64_t left = n - i < ENTRIES ? n - i : ENTRIES;
		off_t at = (off_t)(((uintptr_t)start / PAGE + i) * sizeof(*entries));

		if (pread(pagemap, entries, left * sizeof(*entries), at) != (ssize_t)(left * sizeof(*entries)))
			return errno ? -errno : -EIO;
		for (uint64_t j = 0; j < left && !code; j++)
			if (entries[j] & IS_USED)
				code = copy_page(memory, start + (i + j) * PAGE, offset + (i + j) * PAGE);
	}
	return code;
}

/* Maps the file in place of the private memory, which has the same contents. */
static int map_region(const struct mf_store *store, int number, int memory)
{
	void *start = store->regions[number];
	off_t offset = (off_t)store->header->regions[number].offset;

	return mmap(start, store->sizes[number], PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, memory,
		    offset) == MAP_FAILED ? -errno : 0;
}

int mf_share_store(struct mf_store *store, int *memory, struct mf_error *err)
{
	mf_auto_close int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	mf_auto_close int made = -1;
	int code = pagemap < 0 ? -errno : 0;

	if (code)
		return mf_error_set(err, code, "/proc/self/pagemap: %s", strerror(-code));
	made = create_file(store, err);
	if (made < 0)
		return made;
	for (int i = 0; i < MF_REGION_COUNT && !code; i++)
		if (store->regions[i])
			code = copy_region(store, i, made, pagemap);
	/* If the second of these fails, some regions have a file, and the others do not need one. */
	for (int i = 0; i < MF_REGION_COUNT && !code; i++)
		if (store->regions[i])
			code = map_region(store, i, made);
	if (code)
		return mf_error_set(err, code, "cannot share the memory of the profile: %s", strerror(-code));
	store->has_file = true;
	*memory = mf_take(made, -1);
	return 0;
}
