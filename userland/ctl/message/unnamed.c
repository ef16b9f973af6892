// SPDX-License-Identifier: GPL-2.0
// Reports files whose symbol names cannot be read, and restrictions (base/confine.h) that could not be applied to the
// process that reads symbol names.

#include "unnamed.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/confine.h"
#include "message.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char **reported; /* paths already reported */
static size_t n_reported;

static bool is_reported(const char *path)
{
	for (size_t i = 0; i < n_reported; i++)
		if (strcmp(reported[i], path) == 0)
			return true;
	return false;
}

/*
 * Records that the file @path has been reported as one whose symbol names cannot be read. If out of memory, the path is
 * not recorded, so it may be reported again.
 */
static void remember(const char *path)
{
	char **more = reallocarray(reported, n_reported + 1, sizeof(*more));

	if (!more)
		return;
	reported = more;
	reported[n_reported] = strdup(path);
	n_reported += reported[n_reported] != NULL;
}

void mf_unnamed_say(const char *path, const char *why)
{
	pthread_mutex_lock(&lock);
	if (!is_reported(path)) {
		remember(path);
		mf_message_say(MF_MESSAGE_PROBLEM, "no symbol names for '%s': %s", path, why);
	}
	pthread_mutex_unlock(&lock);
}

/*
 * Checks the protections of the process that reads symbol names, in order of importance, because only the first missing
 * one is reported.
 */
const char *mf_unnamed_what_is_loose(unsigned int confined)
{
	if (!(confined & MF_CONFINED_CALLS))
		return "it may make any system call (the kernel has no seccomp filters)";
	if (!(confined & MF_CONFINED_CAPABILITIES))
		return "it keeps its capabilities";
	if (!(confined & MF_CONFINED_USER))
		return "it runs as this user (the kernel does not let it become nobody)";
	return confined & MF_CONFINED_EXEC ? "" : "it could gain privileges by executing a set-uid program";
}

void mf_unnamed_say_loose(unsigned int confined)
{
	static bool said;

	if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		mf_message_say(MF_MESSAGE_DETAIL, "debug information is read by a process with more "
						  "privileges than it needs: %s",
			       mf_unnamed_what_is_loose(confined));
}
