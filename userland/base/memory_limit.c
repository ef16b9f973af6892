// SPDX-License-Identifier: GPL-2.0
// Keeps a file that needs too much memory from taking all of the machine's.

#include "base/memory_limit.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

static bool is_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return true;
#elif defined(__has_feature)
	return __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
	return false;
#endif
}

void mf_memory_limit(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	struct rlimit limit;
	rlim_t most;

	if (is_sanitized() || pages <= 0 || size <= 0 || getrlimit(RLIMIT_AS, &limit))
		return;
	most = (rlim_t)pages / 2 * (rlim_t)size;
	if (limit.rlim_cur <= most)
		return;
	limit.rlim_cur = most;
	setrlimit(RLIMIT_AS, &limit);
}
