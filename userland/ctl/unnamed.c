// SPDX-License-Identifier: GPL-2.0
// Says of which files the names could not be read.

#include "ctl/unnamed.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/message.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char **told; /* paths */
static size_t n_told;

static bool is_told(const char *path)
{
	for (size_t i = 0; i < n_told; i++)
		if (strcmp(told[i], path) == 0)
			return true;
	return false;
}

/* If memory is short, it may be told twice. */
static void remember(const char *path)
{
	char **more = reallocarray(told, n_told + 1, sizeof(*more));

	if (!more)
		return;
	told = more;
	told[n_told] = strdup(path);
	n_told += told[n_told] != NULL;
}

void mf_unnamed_say(const char *path, const char *why)
{
	pthread_mutex_lock(&lock);
	if (!is_told(path)) {
		remember(path);
		mf_message_say(MF_MESSAGE_PROBLEM, "the code of '%s' has no names: %s", path, why);
	}
	pthread_mutex_unlock(&lock);
}
