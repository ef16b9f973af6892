// SPDX-License-Identifier: GPL-2.0
// Locates the preload shim and builds the environment that loads it.

#include "shim.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/own_path.h"
#include "protocol/join.h"

#define SHIM    "libmassif-preload.so"
#define PRELOAD "LD_PRELOAD="
#define SESSION MF_JOIN_VARIABLE "="

int mf_shim_own_directory(char directory[PATH_MAX], struct mf_error *err)
{
	int ret = mf_own_path(directory);

	if (ret)
		return mf_error_set(err, ret, "cannot read /proc/self/exe: %s; is /proc mounted?", strerror(-ret));
	*strrchr(directory, '/') = '\0';
	return 0;
}

/* ld.so splits LD_PRELOAD at spaces and colons, so the path must not contain either. */
static int check_name(const char *path, struct mf_error *err)
{
	if (!path[strcspn(path, ": ")])
		return 0;
	return mf_error_set(err, -EINVAL,
			    "%.600s cannot be preloaded, because its path contains a blank or a colon; "
			    "install massif somewhere else",
			    path);
}

int mf_shim_find(char **path, struct mf_error *err)
{
	static const char *const places[] = { "", "/../lib/massif" };
	mf_auto_free char *found = NULL;
	const char *chosen = getenv("MASSIF_PRELOAD");
	char directory[PATH_MAX];
	int ret;

	if (chosen && *chosen) {
		found = realpath(chosen, NULL);
		if (!found)
			return mf_error_set(err, -errno,
					    "MASSIF_PRELOAD=%.600s: %s; unset it or correct it",
					    chosen, strerror(errno));
		ret = check_name(found, err);
		if (!ret)
			*path = mf_take(found, NULL);
		return ret;
	}

	ret = mf_shim_own_directory(directory, err);
	if (ret)
		return ret;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		mf_auto_free char *candidate = NULL;

		if (asprintf(&candidate, "%s%s/" SHIM, directory, places[i]) < 0)
			return mf_error_set(err, -ENOMEM, "out of memory");
		found = realpath(candidate, NULL);
		if (!found)
			continue;
		ret = check_name(found, err);
		if (!ret)
			*path = mf_take(found, NULL);
		return ret;
	}
	return mf_error_set(err, -ENOENT,
			    SHIM " is neither in %.400s nor in its ../lib/massif; build or install it, or "
				 "set MASSIF_PRELOAD to its path",
			    directory);
}

static void cleanup_environment(char ***environment)
{
	mf_shim_free_environment(*environment);
}

int mf_shim_make_environment(char *const *environment, const char *path, int session,
			     const char *address, char ***result, struct mf_error *err)
{
	__attribute__((cleanup(cleanup_environment))) char **copy = NULL;
	const char *old = NULL; /* the value of LD_PRELOAD */
	size_t size = 0, n = 0;

	while (environment[size])
		size++;
	copy = calloc(size + 3, sizeof(*copy));
	if (!copy)
		return mf_error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < size; i++) {
		if (strncmp(environment[i], SESSION, strlen(SESSION)) == 0)
			continue;
		copy[n] = strdup(environment[i]);
		if (!copy[n])
			return mf_error_set(err, -ENOMEM, "out of memory");
		if (strncmp(environment[i], PRELOAD, strlen(PRELOAD)) == 0)
			old = environment[i] + strlen(PRELOAD);
		n++;
	}

	/*
	 * Append our LD_PRELOAD even if the environment already contains one. The dynamic linker uses the last one, and
	 * the shim can later remove ours without moving other variables.
	 */
	if (asprintf(&copy[n], PRELOAD "%s%s%s", path, old ? ":" : "", old ? old : "") < 0) {
		copy[n] = NULL;
		return mf_error_set(err, -ENOMEM, "out of memory");
	}
	n++;
	if (asprintf(&copy[n], SESSION "%d%s%s", session, address ? "@" : "",
		     address ? address : "") < 0) {
		copy[n] = NULL;
		return mf_error_set(err, -ENOMEM, "out of memory");
	}
	*result = mf_take(copy, NULL);
	return 0;
}

void mf_shim_free_environment(char **environment)
{
	if (!environment)
		return;
	for (size_t i = 0; environment[i]; i++)
		free(environment[i]);
	free(environment);
}
