// SPDX-License-Identifier: GPL-2.0
// The store, the memory that holds a profile, is created within the process's resource limits. A process that receives
// a store attaches it only if it is valid, and can read it whatever it contains.

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "model/heap.h"
#include "model/model.h"
#include "model/objects.h"
#include "model/trie.h"
#include "report/collect.h"
#include "selftests/lib/model_oracle.h"

#define MIB (1024ull * 1024)
#define GIB (1024 * MIB)

static const struct mf_model_options defaults = { 1, 100, 3, MF_TIME_BYTES, 8, 16 };

/* Fills the store with thousands of contexts, several snapshots, and three objects. */
static void fill(struct mf_store *store)
{
	static const char *const paths[] = { "/bin/true", "/lib/libexample.so", "[vdso]" };
	uint64_t seed = 31;

	mf_model_init(store, &defaults);
	mf_model_attempt(store, 0);
	for (uint64_t i = 0; i < 3; i++) {
		struct mf_object object = { .kind = i < 2 ? MF_OBJECT_FILE : MF_OBJECT_VDSO,
					    .start = i << 20,
					    .end = (i + 1) << 20,
					    .path = paths[i] };

		mf_objects_add(store, &object);
	}
	for (uint64_t i = 0; i < 5000; i++) {
		struct mf_frame frames[20];
		uint32_t n = 1 + (uint32_t)oracle_below(&seed, 20);

		for (uint32_t j = 0; j < n; j++)
			frames[j] = (struct mf_frame){ .pc = 0x1000 + oracle_below(&seed, 3),
						       .object = (uint32_t)oracle_below(&seed, 4) };
		mf_heap_alloc(store, 0x10000 + i * 16, oracle_below(&seed, 100),
			      mf_trie_insert(store, frames, n), 0);
		if (i % 3)
			mf_heap_free(store, 0x10000 + oracle_below(&seed, i + 1) * 16, 0);
	}
}

static uint64_t mapped_bytes(const struct mf_store *store)
{
	uint64_t sum = 0;

	for (int i = 0; i < MF_REGION_COUNT; i++)
		sum += store->sizes[i];
	return sum;
}

/* Returns how many of the @n pages starting at @start are resident in this process; @n is at most 64. */
static int resident_pages(const void *start, int n)
{
	uint64_t entries[64] = { 0 };
	int fd = open("/proc/self/pagemap", O_RDONLY), resident = 0;

	if (fd < 0 || pread(fd, entries, (size_t)n * 8, (off_t)((uintptr_t)start / 4096 * 8)) < 0)
		n = 0;
	for (int i = 0; i < n; i++)
		resident += entries[i] >> 63;
	close(fd);
	return resident;
}

/* Released memory keeps its contents. If it is backed by a file, its pages are no longer resident. */
TEST(let_go)
{
	uint64_t kept[2][64];

	for (int private = 0; private < 2; private++) {
		struct mf_store store;
		int fd;

		ASSERT_EQ(0, mf_store_create(&store, 0, private ? NULL : &fd, NULL));
		memset(store.regions[MF_REGION_CAPTURES], 0x5a, 16 * 4096);
		memcpy(kept[private], store.regions[MF_REGION_CAPTURES], sizeof(kept[private]));
		EXPECT_EQ(16, resident_pages(store.regions[MF_REGION_CAPTURES], 16));
		mf_store_let_go(&store, MF_REGION_CAPTURES);
		EXPECT_EQ(private ? 16 : 0, resident_pages(store.regions[MF_REGION_CAPTURES], 16));
		EXPECT_EQ(0, memcmp(kept[private], store.regions[MF_REGION_CAPTURES],
				    sizeof(kept[private])));
		for (int i = 0; i < 16; i++)
			EXPECT_EQ(0x5a, ((unsigned char *)store.regions[MF_REGION_CAPTURES])[i * 4096]);
		mf_store_detach(&store);
		if (!private)
			close(fd);
	}
}

TEST(budgets)
{
	static const uint64_t budgets[] = { 350 * MIB, 512 * MIB, GIB, 4 * GIB, 100 * GIB };
	struct mf_error err = { "" };
	struct mf_store store;

	for (size_t i = 0; i < sizeof(budgets) / sizeof(*budgets); i++) {
		ASSERT_EQ(0, mf_store_create(&store, budgets[i], NULL, &err));
		EXPECT_GE(budgets[i], mapped_bytes(&store));
		fill(&store);
		EXPECT_EQ(0, store.header->full);
		mf_store_detach(&store);
	}
	EXPECT_EQ(-ENOMEM, mf_store_create(&store, 100 * MIB, NULL, &err));
	EXPECT_NE(NULL, strstr(err.text, "ulimit"));
}

/*
 * Under RLIMIT_AS, creating a store without a budget for its address space fails with a message, because a store of
 * full size does not fit. With a budget below the limit, it succeeds.
 */
TEST(address_space_limit)
{
	struct rlimit limit = { 2 * GIB, 2 * GIB };
	struct mf_error err = { "" };
	struct mf_store store;
	int fd = -1;

#ifdef __SANITIZE_ADDRESS__
	SKIP(return, "the address sanitizer needs the address space itself");
#endif
	ASSERT_EQ(0, setrlimit(RLIMIT_AS, &limit));
	EXPECT_EQ(-ENOMEM, mf_store_create(&store, 0, &fd, &err));
	EXPECT_NE('\0', err.text[0]);
	EXPECT_EQ(-1, fd);
	EXPECT_EQ(NULL, store.header);
	ASSERT_EQ(0, mf_store_create(&store, GIB, &fd, &err));
	fill(&store);
	EXPECT_EQ(0, store.header->full);
}

/*
 * With RLIMIT_FSIZE, either the store's file is made smaller or creating the store fails with an error. In neither case
 * is SIGXFSZ raised.
 */
TEST(file_size_limit)
{
	struct rlimit limit = { GIB, RLIM_INFINITY };
	struct mf_error err = { "" };
	struct mf_store store;
	int fd = -1;

	ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &limit));
	ASSERT_EQ(0, mf_store_create(&store, 0, &fd, &err));
	EXPECT_GE(GIB, mapped_bytes(&store));
	fill(&store);
	mf_store_detach(&store);
	close(fd);

	limit.rlim_cur = 100 * MIB;
	ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &limit));
	fd = -1;
	EXPECT_EQ(-ENOMEM, mf_store_create(&store, 0, &fd, &err));
	EXPECT_EQ(-1, fd);
}

/* Data written through one mapping can be read through another, and the file can be neither shrunk nor extended. */
TEST(shared)
{
	struct mf_store writer, reader;
	struct mf_error err = { "" };
	struct mf_snapshot_view *views = calloc(2 * MF_SNAPSHOTS_MAX, sizeof(*views));
	uint32_t n;
	int fd;

	ASSERT_EQ(0, mf_store_create(&writer, 0, &fd, &err));
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	EXPECT_EQ(-1, ftruncate(fd, 4096));
	EXPECT_EQ(-1, ftruncate(fd, (off_t)(mapped_bytes(&writer) + 4096)));
	ASSERT_EQ(0, mf_store_attach(&reader, fd, &err));
	close(fd);
	fill(&writer);
	n = mf_model_view(&writer, views);
	EXPECT_LT(10, n);
	EXPECT_EQ(n, mf_model_view(&reader, views + MF_SNAPSHOTS_MAX));
	EXPECT_EQ(0, memcmp(views, views + MF_SNAPSHOTS_MAX, n * sizeof(*views)));
	mf_store_detach(&writer);
	EXPECT_EQ(n, mf_model_view(&reader, views));
	mf_store_detach(&reader);
	free(views);
}

TEST(foreign_descriptors)
{
	int pair[2], pipes[2];
	struct mf_store store;
	struct mf_error err;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	ASSERT_EQ(0, pipe(pipes));
	const int fds[] = {
		-1,
		12345,
		pair[0],
		pipes[0],
		pipes[1],
		open("/", O_RDONLY),
		open("/dev/null", O_RDWR),
		open("/dev/zero", O_RDWR),
		open("/proc/self/exe", O_RDONLY),
		memfd_create("empty", 0),
	};

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		err.text[0] = '\0';
		EXPECT_GT(0, mf_store_attach(&store, fds[i], &err));
		EXPECT_NE('\0', err.text[0]);
		EXPECT_EQ(NULL, store.header);
	}
}

static int create_filled(struct mf_store *store, int *fd)
{
	int code = mf_store_create(store, 512 * MIB, fd, NULL);

	if (!code)
		fill(store);
	return code;
}

/* A valid file without seals could be shrunk later, which would cause SIGBUS. */
TEST(unsealed_copy)
{
	struct mf_store store, copy;
	struct mf_error err = { "" };
	int fd, other = memfd_create("copy", MFD_ALLOW_SEALING);

	ASSERT_EQ(0, create_filled(&store, &fd));
	ASSERT_EQ(0, ftruncate(other, (off_t)mapped_bytes(&store)));
	ASSERT_EQ(4096, pwrite(other, store.header, 4096, 0));
	EXPECT_EQ(-EINVAL, mf_store_attach(&copy, other, &err));
	ASSERT_EQ(0, fcntl(other, F_ADD_SEALS, F_SEAL_SHRINK));
	EXPECT_EQ(0, mf_store_attach(&copy, other, &err));
}

/* Walks the nodes of a context's stack. Sets *@code if one leads out of the profile. Returns the sum of their addresses. */
static uint64_t follow_nodes(const struct mf_profile *profile, uint32_t context, int *code)
{
	uint32_t node = profile->node_of(profile->source, context);
	uint64_t sum = 0;

	while (node) {
		struct mf_frame frame;
		uint32_t caller = node < profile->n_nodes ? profile->read_node(profile->source, node, &frame) : node;

		if (caller >= node || frame.object >= profile->n_objects) {
			*code = -ERANGE;
			break;
		}
		sum += frame.pc;
		node = caller;
	}
	return sum;
}

/* Reads all contents of @store with the functions that massif-ctl uses to read a store. */
static int read_all(const struct mf_store *store)
{
	static struct mf_snapshot_view views[MF_SNAPSHOTS_MAX];
	struct mf_collection collection;
	uint64_t sum = 0;
	int code;

	if (mf_model_view(store, views) > MF_SNAPSHOTS_MAX)
		return -ERANGE;
	code = mf_collect(store, (struct mf_end){ 0 }, &collection, NULL);
	if (code)
		return code == -ENOMEM ? 0 : code;
	for (size_t i = 0; i < collection.profile.n_contexts; i++) {
		static struct mf_frame frames[MF_PROFILE_FRAMES_MAX];
		uint32_t n = collection.profile.read_context(collection.profile.source,
							     (uint32_t)i, frames);

		for (uint32_t j = 0; j < n; j++) {
			if (frames[j].object >= collection.profile.n_objects)
				code = -ERANGE;
			sum += frames[j].pc;
		}
		if (collection.profile.node_of)
			sum += follow_nodes(&collection.profile, (uint32_t)i, &code);
	}
	for (size_t i = 0; i < collection.profile.n_snapshots; i++) {
		const struct mf_profile_snapshot *s = &collection.profile.snapshots[i];

		for (size_t j = 0; j < s->n_leaves; j++) {
			if (s->leaves[j].context >= collection.profile.n_contexts)
				code = -ERANGE;
			sum += s->leaves[j].bytes;
		}
	}
	for (size_t i = 1; i < collection.profile.n_objects; i++) {
		const struct mf_object *object = &collection.profile.objects[i];

		sum += object->path ? strlen(object->path) : object->kind;
	}
	mf_collection_release(&collection);
	/* Prevents the reads from being optimised away. */
	__asm__ volatile("" : : "r"(sum));
	return code;
}

/*
 * If the header fields that are checked on attaching contain random bytes, attaching either fails or all of the store's
 * regions are inside the file.
 */
TEST(corrupt_header)
{
	struct mf_store store, other;
	struct mf_store_header good;
	struct mf_error err;
	uint64_t seed = 32;
	uint32_t refused = 0;
	int fd;

	ASSERT_EQ(0, create_filled(&store, &fd));
	good = *store.header;
	for (int round = 0; round < 3000; round++) {
		uint8_t *bytes = (uint8_t *)store.header;
		int n = 1 + (int)oracle_below(&seed, 4), code;

		while (n--) {
			uint64_t at = oracle_below(&seed, offsetof(struct mf_store_header, pid));

			if (oracle_below(&seed, 2))
				bytes[at] = (uint8_t)oracle_random(&seed);
			else
				bytes[at] ^= (uint8_t)(1u << oracle_below(&seed, 8));
		}
		err.text[0] = '\0';
		code = mf_store_attach(&other, fd, &err);
		if (code) {
			EXPECT_NE('\0', err.text[0]);
			refused++;
		} else {
			ASSERT_EQ(0, read_all(&other));
			mf_store_detach(&other);
		}
		*store.header = good;
	}
	EXPECT_LT(1000, refused);
	ASSERT_EQ(0, mf_store_attach(&other, fd, &err));
}

/* The regions of a filled store that the test damages. */
static const struct {
	enum mf_region_id region;
	uint64_t used;
} damaged[] = {
	{ MF_REGION_HEADER, sizeof(struct mf_store_header) },
	{ MF_REGION_MODEL, sizeof(struct mf_model) },
	{ MF_REGION_NODES, 1 * MIB },
	{ MF_REGION_CONTEXT_NODES, 20 * 1024 },
	{ MF_REGION_CONTEXT_BYTES, 40 * 1024 },
	{ MF_REGION_CAPTURES, 2 * MIB },
	{ MF_REGION_OBJECTS, 1024 },
	{ MF_REGION_STRINGS, 64 },
};

/* Returns a wrong value, of the kind that a stray write could leave behind. */
static uint32_t wrong_value(uint64_t *seed)
{
	switch (oracle_below(seed, 5)) {
	case 0:
		return 0;
	case 1:
		return UINT32_MAX - (uint32_t)oracle_below(seed, 3);
	case 2:
		return (uint32_t)oracle_random(seed);
	default:
		/* often a valid index of a node or a chunk, so that the links between these can form a cycle */
		return (uint32_t)oracle_below(seed, 4096);
	}
}

/* Random damage by a faulty program: there is no crash, no endless loop, and no pointer outside the store. */
TEST(scribbled)
{
	struct mf_store store;
	uint64_t seed = 33;

	for (int round = 0; round < 150; round++) {
		int writes = 1 << oracle_below(&seed, 15);

		ASSERT_EQ(0, mf_store_create(&store, 512 * MIB, NULL, NULL));
		fill(&store);
		while (writes--) {
			size_t i = oracle_below(&seed, sizeof(damaged) / sizeof(*damaged));
			uint32_t *words = store.regions[damaged[i].region];

			words[oracle_below(&seed, damaged[i].used / 4)] = wrong_value(&seed);
		}
		ASSERT_EQ(0, read_all(&store))
		{
			TH_LOG("round %d", round);
		}
		mf_store_detach(&store);
	}
}

/*
 * The worst damage: each node is its own parent, each chunk of records precedes itself in its list, and the number of
 * contexts is the maximum.
 */
TEST(cycles)
{
	struct mf_store store;
	struct mf_node *nodes;
	uint32_t *ends;
	uint8_t *chunks;

	ASSERT_EQ(0, mf_store_create(&store, 0, NULL, NULL));
	fill(&store);
	nodes = store.regions[MF_REGION_NODES];
	chunks = store.regions[MF_REGION_CAPTURES];
	for (uint32_t i = 1; i < store.header->n_nodes; i++)
		nodes[i].parent = i;
	for (uint32_t i = 1; i < store.header->n_chunks; i++)
		memcpy(chunks + i * 4096ull, &i, sizeof(i));
	ASSERT_EQ(0, read_all(&store));
	/*
	 * Set all bits of the records of earlier byte counts, so that every record appears to be newer than any tree
	 * version. A reader goes back from the newest record until it finds one that is older than its tree version.
	 * Here there is none, so it keeps following the links between chunks of records until it has followed as many
	 * links as there are chunks.
	 */
	for (uint32_t i = 1; i < store.header->n_chunks; i++)
		memset(chunks + i * 4096ull + 16, 0xff, 4096 - 16);
	ASSERT_EQ(0, read_all(&store));
	store.header->n_contexts = (uint32_t)(store.sizes[MF_REGION_CONTEXT_NODES] / 4);
	ends = store.regions[MF_REGION_CONTEXT_NODES];
	for (uint32_t i = 0; i < store.header->n_contexts; i++)
		ends[i] = 1;
	ASSERT_EQ(0, read_all(&store));
}

TEST_HARNESS_MAIN
