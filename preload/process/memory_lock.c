// SPDX-License-Identifier: GPL-2.0
// mlockall(2) for the program's memory, but not the shim's.
//
// The real mlockall() would populate the whole session memory, although most of its pages are never used. So the shim
// locks the program's mappings one by one. The kernel locks later mappings (MCL_FUTURE).

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/own_memory.h"
#include "core/maps.h"
#include "core/session.h"
#include "core/start.h"

#define EXPORT __attribute__((visibility("default")))

/* Mappings above this address are the kernel's own. */
#define ADDRESS_MAX (1ull << 47)

/* Returns 0 or -errno. It is not an error if a mapping cannot be populated, for example one with PROT_NONE. */
static int lock(const struct mf_map *map, int flags)
{
	uint64_t size = map->end - map->start;

	if (syscall(SYS_mlock2, map->start, size, MLOCK_ONFAULT))
		return -errno;
	if (!(flags & MCL_ONFAULT))
		syscall(SYS_mlock, map->start, size);
	return 0;
}

static int lock_all(int flags)
{
	struct mf_maps maps;
	struct mf_map map;
	int code = mf_maps_open(&maps);

	if (code)
		return code;
	while (!code && mf_maps_next(&maps, &map))
		if (map.start < ADDRESS_MAX && !mf_own_memory_has(map.start))
			code = lock(&map, flags);
	mf_maps_close(&maps);
	return code;
}

EXPORT int mlockall(int flags)
{
	const struct mf_real *real = mf_start();
	int saved = errno, code = 0;

	/*
	 * Call the real mlockall() if there is no session memory (which must stay unlocked), or if the call does not
	 * lock memory that is already mapped. Also call it if the flags are invalid, so that it fails as usual.
	 */
	if (!mf_session_store.header || !(flags & MCL_CURRENT) ||
	    flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		return real->mlockall(flags);
	if (flags & MCL_FUTURE && real->mlockall(flags & ~MCL_CURRENT))
		return -1;
	code = lock_all(flags);
	errno = code ? -code : saved;
	return code ? -1 : 0;
}
