// SPDX-License-Identifier: GPL-2.0
// A read-only copy of another process's session, made through /proc/PID/mem.
//
// Most of a session's address space is never touched, and reading it would allocate pages of the session's file at the
// program's expense. So only the pages that are needed are copied: the pages of the replica are initially
// inaccessible, and a SIGSEGV handler copies them one at a time. Copied pages are not updated while the program
// continues. The caller must check whether they are still consistent (mf_replica_is_current()) and, if not, start over
// (mf_replica_refresh()).

#include "replica.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc_mapping.h"
#include "model/tally.h"

#define SESSION "/memfd:massif-session"
#define YAMA	"/proc/sys/kernel/yama/ptrace_scope"

enum {
	PAGE = 4096,
	TALLIES_BYTES = MF_SHARDS_MAX * sizeof(struct mf_tally),
};

/* The parts of the session that mf_replica_is_current() compares to detect changes. */
struct state {
	char header[PAGE];
	char tallies[TALLIES_BYTES];
};

static struct {
	int memory; /* descriptor of /proc/PID/mem */
	struct mf_store store;
	uint64_t places[MF_REGION_COUNT]; /* address of each region in the process */
	struct state before;
	volatile bool lost; /* set if a page could not be copied */
} replica = { .memory = -1 };

static int explain_mappings(pid_t pid, int code, struct mf_error *err)
{
	if (code == -ENOENT || code == -ESRCH)
		return mf_error_set(err, -ESRCH, "there is no process %d", (int)pid);
	return mf_error_set(err, code,
			    "cannot read the memory mappings of process %d: %s; only its user and root "
			    "may do so",
			    (int)pid, strerror(-code));
}

static int add_mapping(struct mf_mappings *mappings, const struct mf_proc_mapping *found)
{
	struct mf_mapping *items;

	if (!strstr(found->path, SESSION))
		return 0;
	items = reallocarray(mappings->items, mappings->count + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	items[mappings->count++] = (struct mf_mapping){
		.start = found->start, .end = found->end, .offset = found->offset,
	};
	mappings->items = items;
	return 0;
}

int mf_mappings_find(pid_t pid, struct mf_mappings *mappings, struct mf_error *err)
{
	__attribute__((cleanup(mf_proc_mappings_close))) struct mf_proc_mappings maps;
	struct mf_proc_mapping mapping;
	int code = mf_proc_mappings_open(&maps, pid);

	*mappings = (struct mf_mappings){ 0 };
	if (code)
		return explain_mappings(pid, code, err);
	while (!code && mf_proc_mappings_next(&maps, &mapping))
		code = add_mapping(mappings, &mapping);
	if (!code && mf_proc_mappings_failed(&maps))
		code = -EACCES;
	if (code) {
		mf_mappings_free(mappings);
		return explain_mappings(pid, code, err);
	}
	if (!mappings->count)
		return mf_error_set(err, -ENOENT,
				    "process %d has no profile in its memory: it was not started by "
				    "massif-ctl in heap mode",
				    (int)pid);
	return 0;
}

void mf_mappings_free(struct mf_mappings *mappings)
{
	free(mappings->items);
	*mappings = (struct mf_mappings){ 0 };
}

/*
 * Returns the address at which the process has mapped the session's byte at @offset, or 0 if that byte is not mapped.
 */
static uint64_t place_of(const struct mf_mappings *mappings, uint64_t offset)
{
	for (size_t i = 0; i < mappings->count; i++) {
		const struct mf_mapping *mapping = &mappings->items[i];

		if (offset >= mapping->offset && offset - mapping->offset < mapping->end - mapping->start)
			return mapping->start + (offset - mapping->offset);
	}
	return 0;
}

static bool read_at(uint64_t place, void *to, size_t size)
{
	return pread(replica.memory, to, size, (off_t)place) == (ssize_t)size;
}

/* Returns the region that contains @address, or MF_REGION_COUNT if there is none. */
static int region_at(const char *address)
{
	for (int i = 0; i < MF_REGION_COUNT; i++) {
		const char *start = replica.store.regions[i];

		if (start && address >= start && (uint64_t)(address - start) < replica.store.sizes[i])
			return i;
	}
	return MF_REGION_COUNT;
}

static void copy_page(int number, siginfo_t *info, void *context)
{
	const struct sigaction usual = { .sa_handler = SIG_DFL };
	char *page = (char *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1));
	int region = region_at(page), saved = errno;

	if (region == MF_REGION_COUNT || mprotect(page, PAGE, PROT_READ | PROT_WRITE)) {
		/*
		 * The address is not in the replica, so this is a real fault. When this signal handler returns, the
		 * access faults again, and the default action terminates massif-ctl.
		 */
		sigaction(number, &usual, NULL);
		return;
	}
	if (!read_at(replica.places[region] + (uint64_t)(page - (char *)replica.store.regions[region]),
		     page, PAGE))
		replica.lost = true;
	errno = saved;
}

static void read_state(struct state *state)
{
	if (!read_at(replica.places[MF_REGION_HEADER], state->header, sizeof(state->header)) ||
	    !read_at(replica.places[MF_REGION_TALLIES], state->tallies, sizeof(state->tallies)))
		replica.lost = true;
}

/* Reserves address space for each region of the session whose header is @header. Returns 0 or -errno. */
static int map_regions(const struct mf_store_header *header, const struct mf_mappings *mappings)
{
	/* The program may have overwritten the sizes of the regions. */
	if (header->magic != MF_STORE_MAGIC || header->version != MF_STORE_VERSION ||
	    !mf_store_has_sizes(header->regions, header->keeps_details, false))
		return -EINVAL;
	for (int i = 0; i < MF_REGION_COUNT; i++) {
		const struct mf_region *region = &header->regions[i];
		void *address;

		/* The replica has no threads region, because only the shim uses it. */
		if (i == MF_REGION_THREADS || (mf_store_is_of_details(i) && !header->keeps_details))
			continue;
		if (region->size < PAGE || region->size % PAGE || region->size >> 40)
			return -EINVAL;
		replica.places[i] = place_of(mappings, region->offset);
		if (!replica.places[i])
			return -EINVAL;
		address = mmap(NULL, region->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			       -1, 0);
		if (address == MAP_FAILED)
			return -errno;
		replica.store.regions[i] = address;
		replica.store.sizes[i] = region->size;
	}
	replica.store.header = replica.store.regions[MF_REGION_HEADER];
	return 0;
}

static int explain_memory(pid_t pid, int code, struct mf_error *err)
{
	mf_auto_fclose FILE *file = fopen(YAMA, "re");
	int scope = 0;

	if (file && fscanf(file, "%d", &scope) == 1 && scope && geteuid())
		return mf_error_set(err, code,
				    "only root may read the memory of process %d "
				    "(kernel.yama.ptrace_scope is %d): run 'massif-ctl rescue %d' as root",
				    (int)pid, scope, (int)pid);
	return mf_error_set(err, code,
			    "cannot read the memory of process %d: %s; only its user and root may do so",
			    (int)pid, strerror(-code));
}

int mf_replica_open(struct mf_store *store, pid_t pid, const struct mf_mappings *mappings,
		    struct mf_error *err)
{
	const struct sigaction action = { .sa_sigaction = copy_page, .sa_flags = SA_SIGINFO };
	struct mf_store_header header;
	char path[32];
	int code;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	replica.memory = open(path, O_RDONLY | O_CLOEXEC);
	if (replica.memory < 0)
		return explain_memory(pid, -errno, err);
	if (!read_at(place_of(mappings, 0), &header, sizeof(header)))
		code = explain_memory(pid, -EIO, err);
	else if ((code = map_regions(&header, mappings)))
		mf_error_set(err, code,
			     code == -EINVAL ? "process %d has no profile of this version of massif" :
					       "not enough address space for the profile of process %d",
			     (int)pid);
	if (code) {
		mf_replica_close(store);
		return code;
	}
	sigaction(SIGSEGV, &action, NULL);
	*store = replica.store;
	mf_replica_refresh();
	return 0;
}

void mf_replica_refresh(void)
{
	replica.lost = false;
	for (int i = 0; i < MF_REGION_COUNT; i++) {
		if (replica.store.regions[i] &&
		    mmap(replica.store.regions[i], replica.store.sizes[i], PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
			replica.lost = true;
	}
	read_state(&replica.before);
}

bool mf_replica_is_current(bool all)
{
	const struct mf_store_header *before = (const void *)replica.before.header;
	struct state now;

	read_state(&now);
	if (!all)
		return ((const struct mf_store_header *)(const void *)now.header)->capture_moves ==
		       before->capture_moves;
	return !memcmp(&now, &replica.before, sizeof(now));
}

bool mf_replica_is_whole(void)
{
	return !replica.lost;
}

void mf_replica_close(struct mf_store *store)
{
	for (int i = 0; i < MF_REGION_COUNT; i++)
		if (replica.store.regions[i])
			munmap(replica.store.regions[i], replica.store.sizes[i]);
	memset(&replica.store, 0, sizeof(replica.store));
	memset(store, 0, sizeof(*store));
	if (replica.memory >= 0)
		close(mf_take(replica.memory, -1));
}
