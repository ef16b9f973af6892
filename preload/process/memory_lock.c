// SPDX-License-Identifier: GPL-2.0
// mlockall(2) for the program's memory, but not the shim's.
//
// The real mlockall() would populate the whole session memory, although most of its pages are never used. So the shim
// locks the program's mappings one by one. The kernel locks later mappings (MCL_FUTURE).

#include <errno.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/own_memory.h"
#include "core/maps.h"
#include "core/seccomp.h"
#include "core/session.h"
#include "core/start.h"

#define EXPORT __attribute__((visibility("default")))

/* Mappings above this address are the kernel's own. */
#define ADDRESS_MAX (1ull << 47)

/* How often the kernel is asked to lock a mapping that other threads unmap and map meanwhile. */
#define ATTEMPTS 20

static bool next_of_program(struct mf_maps *maps, struct mf_map *map)
{
	while (mf_maps_next(maps, map))
		if (map->start < ADDRESS_MAX && !mf_own_memory_has(map->start))
			return true;
	return false;
}

/* Returns whether part of the mapping has been unmapped since the list of mappings was read. */
static bool is_gone(const struct mf_map *map)
{
	/* MS_ASYNC has no effect but this error. */
	return syscall(SYS_msync, map->start, map->end - map->start, MS_ASYNC) && errno == ENOMEM;
}

/*
 * Returns 0 or -errno. It is not an error if part of the mapping is gone. Tries again if it is not, because another thread
 * may have mapped memory there since.
 */
static int lock_on_fault(const struct mf_map *map)
{
	int code = 0;

	for (int i = 0; i < ATTEMPTS; i++) {
		if (!syscall(SYS_mlock2, map->start, map->end - map->start, MLOCK_ONFAULT))
			return 0;
		code = -errno;
		if (code != -ENOMEM)
			return code;
		if (is_gone(map))
			return 0;
	}
	return code;
}

/* Returns 0 or -errno. It is not an error if a mapping cannot be populated, for example one with PROT_NONE. */
static int lock(const struct mf_map *map, int flags)
{
	int code = lock_on_fault(map);

	if (!code && !(flags & MCL_ONFAULT))
		syscall(SYS_mlock, map->start, map->end - map->start);
	return code;
}

/* Returns 0 or -errno. Adds the size of the program's mappings to *@bytes. */
static int measure(uint64_t *bytes)
{
	struct mf_maps maps;
	struct mf_map map;
	int code = mf_maps_open(&maps);

	if (code)
		return code;
	while (next_of_program(&maps, &map))
		*bytes += map.end - map.start;
	mf_maps_close(&maps);
	return 0;
}

static int lock_each(int flags)
{
	struct mf_maps maps;
	struct mf_map map;
	int code = mf_maps_open(&maps);

	if (code)
		return code;
	while (!code && next_of_program(&maps, &map))
		code = lock(&map, flags);
	mf_maps_close(&maps);
	return code;
}

/* Returns whether the process may lock more memory than RLIMIT_MEMLOCK. */
static bool may_exceed_limit(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return !syscall(SYS_capget, &header, data) && data[0].effective & 1u << CAP_IPC_LOCK;
}

/*
 * Returns whether the kernel would let the program lock all its memory if the shim were not loaded. A sandbox may forbid
 * the system calls that this takes; then the answer is no.
 */
static bool is_allowed(void)
{
	struct rlimit limit;
	uint64_t bytes = 0;

	return !mf_seccomp_is_on() && !measure(&bytes) && !syscall(SYS_prlimit64, 0, RLIMIT_MEMLOCK, NULL, &limit) &&
	       (bytes <= limit.rlim_cur || may_exceed_limit());
}

/*
 * Lets the kernel lock all memory, or refuse that. With MCL_ONFAULT, it does not populate the session memory, nor the
 * program's.
 */
static int lock_as_one(int flags)
{
	const struct mf_real *real = mf_start();
	int ret = real->mlockall(MCL_CURRENT | MCL_ONFAULT);

	return !ret && flags & MCL_FUTURE ? real->mlockall(flags & ~MCL_CURRENT) : ret;
}

EXPORT int mlockall(int flags)
{
	const struct mf_real *real = mf_start();
	int saved = errno, code;

	/*
	 * Call the real mlockall() if there is no session memory (which must stay unlocked), or if the call does not
	 * lock memory that is already mapped. Also call it if the flags are invalid, so that it fails as usual.
	 */
	if (!mf_session_store.header || !(flags & MCL_CURRENT) ||
	    flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		return real->mlockall(flags);
	if (!is_allowed()) {
		errno = saved;
		return lock_as_one(flags);
	}
	code = lock_each(flags);
	errno = code ? -code : saved;
	if (code)
		return -1;
	/* Last, because a call that fails must not lock later mappings. */
	return flags & MCL_FUTURE ? real->mlockall(flags & ~MCL_CURRENT) : 0;
}
