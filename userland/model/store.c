// SPDX-License-Identifier: GPL-2.0
// Creates, maps and unmaps the store: the memory that holds a profile.

#include "model/store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/blocks.h"
#include "model/details.h"
#include "tree_version.h"
#include "model/model.h"
#include "model/objects.h"
#include "model/size_classes.h"
#include "model/tally.h"
#include "model/thread_table.h"
#include "model/trie.h"

#define KIB 1024ull
#define MIB (1024ull * KIB)
#define GIB (1024ull * MIB)

/*
 * The preferred size of each region, and the minimum that it may be reduced to if the program's address space is
 * limited. In a store that does not keep details, their regions have no bytes. An untouched page costs nothing but address
 * space. The directory has a fixed size: one entry for each 4 MiB of 48 bits of addresses.
 */
static const struct {
	uint64_t wanted, least;
} region_sizes[MF_REGION_COUNT] = {
	[MF_REGION_HEADER] = { 16 * KIB, 16 * KIB },
	[MF_REGION_MODEL] = { 64 * KIB, 64 * KIB },
	[MF_REGION_NODES] = { 1 * GIB, 2 * MIB },
	[MF_REGION_NODE_HASH] = { 256 * MIB, 1 * MIB },
	[MF_REGION_CONTEXT_BYTES] = { 8 * GIB, 32 * MIB },
	[MF_REGION_TEMPORARIES] = { 2 * GIB, 8 * MIB },
	[MF_REGION_SIZE_CLASSES] = { 64 * KIB, 64 * KIB },
	[MF_REGION_CONTEXT_NODES] = { 16 * MIB, 128 * KIB },
	[MF_REGION_FUNCTIONS] = { 4 * MIB, 64 * KIB },
	[MF_REGION_CAPTURES] = { 16 * GIB, 4 * MIB },
	[MF_REGION_BLOCK_DIRECTORY] = { 256 * MIB, 256 * MIB },
	[MF_REGION_BLOCK_LEAVES] = { 64 * GIB, 32 * MIB },
	[MF_REGION_WIDE_BLOCKS] = { 1 * GIB, 1 * MIB },
	[MF_REGION_OBJECTS] = { 64 * MIB, 256 * KIB },
	[MF_REGION_STRINGS] = { 64 * MIB, 1 * MIB },
	[MF_REGION_STEPS] = { 64 * MIB, 64 * KIB },
	[MF_REGION_TALLIES] = { 16 * KIB, 16 * KIB },
	[MF_REGION_LEDGER] = { 1 * GIB, 1 * MIB },
	[MF_REGION_LEDGER_NUMBERS] = { 128 * MIB, 256 * KIB },
	[MF_REGION_NEW_RULES] = { 512 * KIB, 64 * KIB },
	[MF_REGION_THREAD_TABLE] = { 1 * MIB, 1 * MIB },
	[MF_REGION_DETAILS] = { 32 * GIB, 32 * MIB },
	[MF_REGION_DETAIL_LINES] = { 4 * GIB, 1 * MIB },
	[MF_REGION_BIRTHS] = { 256 * GIB, 32 * MIB },
	[MF_REGION_PAST_BLOCKS] = { 6 * GIB, 3 * MIB / 2 },
	[MF_REGION_ORIGIN] = { 64 * KIB, 64 * KIB },
	[MF_REGION_THREADS] = { 8 * GIB, 32 * MIB },
};

_Static_assert(sizeof(struct mf_store_header) <= 16 * KIB, "the header outgrew its region");
_Static_assert(MF_SHARDS_MAX * sizeof(struct mf_tally) <= 16 * KIB, "the tallies outgrew theirs");
_Static_assert(MF_SHARDS_MAX * MF_SIZE_CLASSES * sizeof(struct mf_size_class) <= 64 * KIB, "the size classes outgrew theirs");
_Static_assert((MF_THREAD_TABLE_MAX + 1) * sizeof(struct mf_thread_record) <= 1 * MIB, "the threads outgrew theirs");
_Static_assert(sizeof(struct mf_model) <= 64 * KIB, "the model outgrew its region");

static uint64_t sum_of(const uint64_t *sizes)
{
	uint64_t sum = 0;

	for (int i = 0; i < MF_REGION_COUNT; i++)
		sum += sizes[i];
	return sum;
}

/*
 * Sets @sizes to the sizes of the store's regions. Halves them repeatedly, but never below a region's minimum, until
 * all regions together fit into @budget (0: no limit). Returns false if that is impossible.
 */
static bool plan_sizes(uint64_t *sizes, uint64_t budget, bool has_threads, bool has_details)
{
	for (int i = 0; i < MF_REGION_COUNT; i++)
		sizes[i] = mf_store_is_of_details(i) && !has_details ? 0 : region_sizes[i].wanted;
	if (!has_threads)
		sizes[MF_REGION_THREADS] = 0;

	while (budget && sum_of(sizes) > budget) {
		bool shrunk = false;

		for (int i = 0; i < MF_REGION_COUNT; i++) {
			if (sizes[i] / 2 < region_sizes[i].least)
				continue;
			sizes[i] /= 2;
			shrunk = true;
		}
		if (!shrunk)
			return false;
	}
	return true;
}

/*
 * Returns the lower of two limits: @budget, the maximum size of the whole store in bytes (0: no limit), and this
 * process's limit on file sizes.
 */
static uint64_t budget_within_limits(uint64_t budget)
{
	struct rlimit limit;

	/* Using ftruncate() to grow a file beyond RLIMIT_FSIZE would raise SIGXFSZ. */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	    (!budget || limit.rlim_cur < budget))
		budget = limit.rlim_cur;
	return budget;
}

/*
 * Maps all regions with @protection at the addresses in @places, or at any addresses if @places is NULL. @has_threads is
 * false if MF_REGION_THREADS is not mapped. Returns 0 or -errno.
 */
static int map_all(struct mf_store *store, int fd, const struct mf_region *regions,
		   void *const *places, int protection, bool has_threads)
{
	int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;

	if (places)
		flags |= MAP_FIXED;
	for (int i = 0; i < MF_REGION_COUNT; i++) {
		void *address;

		store->sizes[i] = regions[i].size;
		store->offsets[i] = regions[i].offset;
		if (!regions[i].size || (!has_threads && i == MF_REGION_THREADS))
			continue;
		address = mmap(places ? places[i] : NULL, regions[i].size, protection, flags | MAP_NORESERVE, fd,
			       fd >= 0 ? (off_t)regions[i].offset : 0);

		if (address == MAP_FAILED) {
			int code = -errno;

			mf_store_detach(store);
			return code;
		}
		store->regions[i] = address;
		/* Exclude the store from the program's core dumps, since it is not the program's memory. */
		if (fd >= 0)
			madvise(address, regions[i].size, MADV_DONTDUMP);
	}
	store->header = store->regions[MF_REGION_HEADER];
	store->has_file = fd >= 0;
	return 0;
}

void mf_store_let_go(const struct mf_store *store, enum mf_region_id region)
{
	if (store->has_file && store->regions[region])
		madvise(store->regions[region], store->sizes[region], MADV_DONTNEED);
}

/* Makes a file of @size bytes from the empty memfd @given, or from a new one if @given is negative. */
static int create_file(uint64_t size, int given, int *fd, struct mf_error *err)
{
	int made = given >= 0 ? given : memfd_create("massif-session", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (made < 0)
		return mf_error_set(err, -errno, "cannot create the session memory: %s",
				    strerror(errno));
	if (ftruncate(made, (off_t)size) ||
	    fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		int code = -errno;

		if (given < 0)
			close(made);
		return mf_error_set(err, code, "cannot size the session memory: %s",
				    strerror(-code));
	}
	*fd = made;
	return 0;
}

static int create(struct mf_store *store, uint64_t budget, bool has_details, int given, int *fd, struct mf_error *err)
{
	struct mf_region regions[MF_REGION_COUNT];
	uint64_t sizes[MF_REGION_COUNT], offset = 0;
	int made = -1, code;

	memset(store, 0, sizeof(*store));
	if (!plan_sizes(sizes, budget_within_limits(budget), fd, has_details))
		return mf_error_set(err, -ENOMEM,
				    "the limits on address space or file size (ulimit -v, ulimit -f) "
				    "leave less than the %d MiB that a profile needs; raise them",
				    has_details ? 440 : 375);
	for (int i = 0; i < MF_REGION_COUNT; i++) {
		regions[i] = (struct mf_region){ .offset = offset, .size = sizes[i] };
		offset += sizes[i];
	}

	if (fd) {
		code = create_file(offset, given, &made, err);
		if (code)
			return code;
	}
	code = map_all(store, made, regions, NULL, PROT_READ | PROT_WRITE, false);
	if (code) {
		if (made >= 0 && given < 0)
			close(made);
		return mf_error_set(err, code, "cannot map the session memory: %s", strerror(-code));
	}

	store->header->version = MF_STORE_VERSION;
	memcpy(store->header->regions, regions, sizeof(regions));
	store->header->n_chunks = 1; /* in these regions, element 0 means "none" */
	store->header->n_wide = 1;
	store->header->n_leaves = 1;
	store->header->n_ledger = 1;
	store->header->n_detail_lines = 1;
	store->header->keeps_details = has_details;
	mf_blocks_set_distance(store, 16);
	mf_trie_init(store);
	mf_objects_init(store);
	store->header->magic = MF_STORE_MAGIC;
	if (fd)
		*fd = made;
	return 0;
}

int mf_store_create(struct mf_store *store, uint64_t budget, int *fd, struct mf_error *err)
{
	return create(store, budget, false, -1, fd, err);
}

int mf_store_create_detailed(struct mf_store *store, uint64_t budget, int *fd, struct mf_error *err)
{
	return create(store, budget, true, -1, fd, err);
}

int mf_store_create_in(struct mf_store *store, uint64_t budget, bool has_details, int fd, struct mf_error *err)
{
	int made;

	return create(store, budget, has_details, fd, &made, err);
}

static bool is_size(uint64_t size, enum mf_region_id id, bool keeps_details, bool has_threads)
{
	if (id == MF_REGION_THREADS && !has_threads)
		return true;
	return mf_store_is_of_details(id) && !keeps_details ? !size : size >= region_sizes[id].least;
}

bool mf_store_has_sizes(const struct mf_region *regions, bool keeps_details, bool has_threads)
{
	for (int i = 0; i < MF_REGION_COUNT; i++)
		if (!is_size(regions[i].size, i, keeps_details, has_threads))
			return false;
	/* The arrays of both have as many contexts. */
	return regions[MF_REGION_TEMPORARIES].size / sizeof(uint64_t) >=
	       regions[MF_REGION_CONTEXT_BYTES].size / sizeof(struct mf_cell);
}

/* The beginning of struct mf_store_header. */
struct header_start {
	uint64_t magic;
	uint32_t version;
	uint32_t full;
	struct mf_region regions[MF_REGION_COUNT];
};

_Static_assert(sizeof(struct header_start) == offsetof(struct mf_store_header, pid), "not the beginning of the header");

static bool read_at(int fd, void *buffer, size_t size, size_t offset)
{
	return pread(fd, buffer, size, (off_t)offset) == (ssize_t)size;
}

/*
 * Reads the region table from @fd and checks it against the file's size. Returns 0 or -errno. Reads no more of the header
 * than it needs: the whole would not fit on a small stack of a forked process.
 */
static int read_regions(int fd, struct mf_region *regions, bool has_threads)
{
	struct header_start header;
	uint32_t keeps_details;
	struct stat status;
	int seals;

	if (fstat(fd, &status) < 0)
		return -errno;
	/* If another process can still shrink the file, accessing its mapping in this process may raise SIGBUS. */
	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return -EINVAL;
	if (!read_at(fd, &header, sizeof(header), 0) ||
	    !read_at(fd, &keeps_details, sizeof(keeps_details), offsetof(struct mf_store_header, keeps_details)) ||
	    header.magic != MF_STORE_MAGIC || header.version != MF_STORE_VERSION ||
	    !mf_store_has_sizes(header.regions, keeps_details, has_threads))
		return -EINVAL;
	for (int i = 0; i < MF_REGION_COUNT; i++) {
		const struct mf_region *region = &header.regions[i];

		if (region->offset % (4 * KIB) || region->offset > (uint64_t)status.st_size ||
		    region->size > (uint64_t)status.st_size - region->offset)
			return -EINVAL;
		regions[i] = *region;
	}
	return 0;
}

static int attach(struct mf_store *store, int fd, int protection, bool has_threads, struct mf_error *err)
{
	struct mf_region regions[MF_REGION_COUNT];
	int code;

	memset(store, 0, sizeof(*store));
	code = read_regions(fd, regions, has_threads);
	if (code)
		return mf_error_set(err, code, "descriptor %d is not a massif session", fd);
	code = map_all(store, fd, regions, NULL, protection, has_threads);
	if (code)
		return mf_error_set(err, code, "cannot map the session memory: %s", strerror(-code));
	return 0;
}

int mf_store_attach(struct mf_store *store, int fd, struct mf_error *err)
{
	return attach(store, fd, PROT_READ | PROT_WRITE, true, err);
}

int mf_store_attach_to_read(struct mf_store *store, int fd, struct mf_error *err)
{
	return attach(store, fd, PROT_READ, false, err);
}

int mf_store_attach_again(struct mf_store *store, int fd)
{
	struct mf_region regions[MF_REGION_COUNT];
	struct mf_store old = *store;
	int code = read_regions(fd, regions, true);

	for (int i = 0; !code && i < MF_REGION_COUNT; i++)
		if (regions[i].size != old.sizes[i])
			code = -EINVAL;
	if (code)
		return code;
	memset(store, 0, sizeof(*store));
	return map_all(store, fd, regions, old.regions, PROT_READ | PROT_WRITE, true);
}

int mf_store_keep_changes(struct mf_store *store, int fd)
{
	struct mf_region regions[MF_REGION_COUNT];
	int code = read_regions(fd, regions, true);

	for (int i = 0; !code && i < MF_REGION_COUNT; i++) {
		if (regions[i].size != store->sizes[i])
			return -EINVAL;
		if (!regions[i].size)
			continue;
		if (mmap(store->regions[i], store->sizes[i], PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd,
			 (off_t)regions[i].offset) == MAP_FAILED)
			code = -errno;
		else
			madvise(store->regions[i], store->sizes[i], MADV_DONTDUMP);
	}
	return code;
}

void mf_store_detach(struct mf_store *store)
{
	for (int i = 0; i < MF_REGION_COUNT; i++)
		if (store->regions[i])
			munmap(store->regions[i], store->sizes[i]);
	memset(store, 0, sizeof(*store));
}
