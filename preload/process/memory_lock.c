// SPDX-License-Identifier: GPL-2.0
// mlockall(2), of the program's memory without ours.
//
// The kernel would fill all of the session with pages, also where nothing will ever be. So the program's
// mappings are locked one by one; what comes later the kernel locks by itself.

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/own_memory.h"
#include "core/maps.h"
#include "core/session.h"
#include "core/start.h"

#define EXPORT __attribute__((visibility("default")))

/* Above are the kernel's own. */
#define ADDRESS_MAX (1ull << 47)

/* Returns 0 or -errno. That pages cannot be had, as of memory without rights, is no error here. */
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

	/* Without MCL_FUTURE there is one call fewer, which can refuse the flags. */
	if (!mf_session_store.header || !(flags & MCL_CURRENT) ||
	    flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		return real->mlockall(flags);
	if (flags & MCL_FUTURE && real->mlockall(flags & ~MCL_CURRENT))
		return -1;
	code = lock_all(flags);
	errno = code ? -code : saved;
	return code ? -1 : 0;
}
