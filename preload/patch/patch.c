// SPDX-License-Identifier: GPL-2.0
// Changes the program's code in memory.
//
// Pages of the program's code are made writable only briefly. They stay executable throughout, because other threads,
// or the shim itself, may be executing code in them. So a change fails if the system forbids pages from being both
// writable and executable. Removing execute permission instead is not a solution, because it might be impossible to
// restore. The shim's own code pages are never writable and executable at the same time.

#include "patch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "core/maps.h"
#include "core/own_memory.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define POOL_BYTES  65536u
#define POOLS_MAX   4096u
#define ROOM_ALIGN  16u
/*
 * Maximum distance in bytes between a site (code that is overwritten with a jump) and its pool (memory for code). Less
 * than a jump's reach, because data that the site's instructions refer to must also be within reach of the pool.
 */
#define POOL_REACH  (MF_JUMP_REACH - (512ull << 20))
/* Minimum address of a pool (memory for code): accesses through null pointers must still fault. */
#define LOWEST	    65536u

/*
 * A pool: memory for code, near the program's code. While @is_open is set, the part from @open on is writable; the rest
 * is executable.
 */
struct pool {
	uint64_t start;
	/*
	 * Offsets in bytes from the pool's start. @used: the first free byte. @open: the beginning of the writable
	 * part, which is the beginning of a page.
	 */
	uint32_t used, open;
	bool is_open;
};

static struct pool pools[POOLS_MAX];
static uint32_t n_pools;

static uint64_t page_size(void)
{
	return getauxval(AT_PAGESZ);
}

static uint64_t round_up(uint64_t bytes, uint64_t to)
{
	return (bytes + to - 1) & ~(to - 1);
}

static int protect(uint64_t start, uint64_t end, int protection)
{
	int saved = errno;
	int code = mprotect((void *)(uintptr_t)start, end - start, protection) ? -errno : 0;

	errno = saved;
	return code;
}

/*
 * The mapping that was last read from /proc/self/maps, cached between mf_patch_begin() and mf_patch_end(). It stays
 * valid because each write restores the mapping's protection.
 */
static struct mf_map seen;
static bool keeps_seen;

void mf_patch_begin(void)
{
	seen = (struct mf_map){ 0 };
	keeps_seen = true;
}

void mf_patch_end(void)
{
	seen = (struct mf_map){ 0 };
	keeps_seen = false;
}

/* A range of up to two pages, split at the boundary between two mappings. */
struct parts {
	struct mf_map maps[2];
	uint32_t n;
};

static int find_parts(uint64_t start, uint64_t end, struct parts *parts)
{
	struct mf_maps maps;
	struct mf_map map;
	uint64_t at = start;
	int code;

	if (seen.start <= start && end <= seen.end) {
		*parts = (struct parts){ { { start, end, seen.protection } }, 1 };
		return 0;
	}
	code = mf_maps_open(&maps);
	if (code)
		return code;
	parts->n = 0;
	while (at < end && parts->n < 2 && mf_maps_next(&maps, &map)) {
		if (map.end <= at)
			continue;
		if (map.start > at)
			break;
		if (keeps_seen)
			seen = map;
		parts->maps[parts->n++] = (struct mf_map){
			.start = at,
			.end = map.end < end ? map.end : end,
			.protection = map.protection,
		};
		at = map.end;
	}
	mf_maps_close(&maps);
	return at < end ? -EFAULT : 0;
}

int mf_patch_write(void *site, const void *bytes, size_t n)
{
	uint64_t at = (uintptr_t)site, page = page_size();
	struct parts parts;
	uint32_t made = 0;
	int code;

	if (n > page)
		return -EINVAL;
	code = find_parts(at & ~(page - 1), round_up(at + n, page), &parts);
	for (; !code && made < parts.n; made++) {
		const struct mf_map *map = &parts.maps[made];

		if (!(map->protection & PROT_WRITE))
			code = protect(map->start, map->end, map->protection | PROT_WRITE);
		if (code)
			break;
	}
	if (!code) {
		memcpy(site, bytes, n);
		__builtin___clear_cache(site, (char *)site + n);
	}
	while (made-- > 0) {
		const struct mf_map *map = &parts.maps[made];

		/*
		 * Restore the protection of each page that was made writable. If this fails, the page stays writable,
		 * which is harmless.
		 */
		if (!(map->protection & PROT_WRITE) &&
		    protect(map->start, map->end, map->protection))
			seen = (struct mf_map){ 0 };
	}
	return code;
}

/*
 * Returns the highest address at which a pool (memory for code) fits between @start and @end and is at most POOL_REACH
 * away from @site, or 0 if there is none.
 */
static uint64_t place_between(uint64_t start, uint64_t end, uint64_t site)
{
	uint64_t least = site > POOL_REACH ? site - POOL_REACH : 0;
	uint64_t most = site + POOL_REACH;

	if (start < least)
		start = round_up(least, POOL_BYTES);
	if (start < LOWEST)
		start = LOWEST;
	if (end > most)
		end = most & ~(uint64_t)(POOL_BYTES - 1);
	return end > start && end - start >= POOL_BYTES ? end - POOL_BYTES : 0;
}

/*
 * Finds an address for a pool (memory for code) that a jump at @site can reach: the nearest one below @site. If there
 * is none, the farthest one above @site, because a mapping just above @site, such as the program's heap, may need room
 * to grow.
 */
static int find_place(uint64_t site, uint64_t *place)
{
	struct mf_maps maps;
	struct mf_map map;
	uint64_t from = 0, below = 0, above = 0, found;
	int code = mf_maps_open(&maps);

	if (code)
		return code;
	while (from < site + POOL_REACH) {
		bool more = mf_maps_next(&maps, &map);

		found = place_between(from, more ? map.start : UINT64_MAX, site);
		if (found && found < site)
			below = found;
		else if (found)
			above = found;
		if (!more)
			break;
		from = map.end;
	}
	mf_maps_close(&maps);
	*place = below ? below : above;
	return *place ? 0 : -ENOMEM;
}

static int make_pool(uint64_t site)
{
	uint64_t place;
	int saved = errno, code;
	void *made;

	if (n_pools == POOLS_MAX)
		return -ENOMEM;
	code = find_place(site, &place);
	if (code)
		return code;
	made = mmap((void *)(uintptr_t)place, POOL_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	code = made == MAP_FAILED ? -errno : 0;
	/*
	 * Kernels before 4.17 do not support MAP_FIXED_NOREPLACE: they treat the address passed to mmap() as a hint,
	 * and may choose another one.
	 */
	if (!code && (uintptr_t)made != place) {
		munmap(made, POOL_BYTES);
		code = -ENOMEM;
	}
	errno = saved;
	if (code)
		return code;
	pools[n_pools++] = (struct pool){ .start = place, .is_open = true };
	mf_own_memory_add_code(POOL_BYTES);
	mf_own_memory_note(made, POOL_BYTES);
	return 0;
}

static bool is_near(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) <= POOL_REACH;
}

static bool has_room(const struct pool *pool, uint64_t site, size_t size)
{
	uint32_t from = pool->is_open ? pool->used : (uint32_t)round_up(pool->used, page_size());

	return from + size <= POOL_BYTES && is_near(site, pool->start) && is_near(site, pool->start + POOL_BYTES);
}

/* Makes the rest of the pool writable again: all pages after those that already contain code. */
static int open_pool(struct pool *pool)
{
	uint32_t from = (uint32_t)round_up(pool->used, page_size());
	int code;

	if (pool->is_open)
		return 0;
	code = protect(pool->start + from, pool->start + POOL_BYTES, PROT_READ | PROT_WRITE);
	if (code)
		return code;
	pool->used = pool->open = from;
	pool->is_open = true;
	return 0;
}

int mf_patch_room(const void *site, size_t size, void **room)
{
	uint64_t at = (uintptr_t)site;
	struct pool *pool = NULL;
	int code;

	if (!MF_JUMP_BYTES)
		return -ENOTSUP;
	if (size > POOL_BYTES)
		return -ENOMEM;
	size = round_up(size, ROOM_ALIGN);
	for (uint32_t i = 0; i < n_pools && !pool; i++)
		if (has_room(&pools[i], at, size))
			pool = &pools[i];
	if (!pool) {
		code = make_pool(at);
		if (code)
			return code;
		pool = &pools[n_pools - 1];
	}
	code = open_pool(pool);
	if (code)
		return code;
	*room = (void *)(uintptr_t)(pool->start + pool->used);
	pool->used += (uint32_t)size;
	return 0;
}

int mf_patch_seal(void)
{
	int code = 0;

	for (uint32_t i = 0; i < n_pools; i++) {
		struct pool *pool = &pools[i];
		uint64_t start = pool->start + pool->open, end = pool->start + POOL_BYTES;
		int failed;

		if (!pool->is_open)
			continue;
		failed = protect(start, end, PROT_READ | PROT_EXEC);
		if (failed) {
			/* Discard the code that could not be made executable. No jump to it has been written yet. */
			pool->used = pool->open;
			code = failed;
			continue;
		}
		__builtin___clear_cache((char *)(uintptr_t)start, (char *)(uintptr_t)end);
		pool->is_open = false;
	}
	return code;
}

int mf_patch_prepare(const void *site, const void *target, const void **via)
{
	void *room;
	int code;

	if (!MF_JUMP_BYTES)
		return -ENOTSUP;
	*via = target;
	if (mf_jump_reaches((uintptr_t)site, (uintptr_t)target))
		return 0;
	code = mf_patch_room(site, MF_JUMP_FAR_BYTES, &room);
	if (code)
		return code;
	mf_jump_encode_far(room, (uintptr_t)target);
	*via = room;
	return 0;
}

int mf_patch_jump(void *site, const void *via)
{
	uint8_t jump[MF_JUMP_BYTES ? MF_JUMP_BYTES : 1];

	if (!MF_JUMP_BYTES)
		return -ENOTSUP;
	if (!mf_jump_reaches((uintptr_t)site, (uintptr_t)via))
		return -ERANGE;
	mf_jump_encode(jump, (uintptr_t)site, (uintptr_t)via);
	return mf_patch_write(site, jump, MF_JUMP_BYTES);
}
