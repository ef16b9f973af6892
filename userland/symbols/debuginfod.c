// SPDX-License-Identifier: GPL-2.0
// Fetches debug files from servers, with libdebuginfod.

#include "symbols/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libdebuginfod.so.1"
#define URLS	"DEBUGINFOD_URLS"

struct client; /* the library's debuginfod_client */

struct mf_debuginfod {
	pthread_mutex_t mutex; /* protects the members below: only one thread at a time may use a client */
	struct client *client;
	int failure;
	/* functions of the library, as in debuginfod_find_debuginfo(3) */
	struct client *(*begin)(void);
	void (*end)(struct client *client);
	int (*find_debuginfo)(struct client *client, const unsigned char *build_id, int size, char **path);
	void (*set_progress)(struct client *client, int (*progress)(struct client *client, long done, long total));
};

/* The library passes no data to its callback. */
static void (*report)(size_t done, size_t total);

static int pass_on(struct client *client, long done, long total)
{
	if (done > 0 && total > 0)
		report((size_t)done, (size_t)total);
	return 0;
}

/* Looks up the functions. Returns the name of one that the library lacks, or NULL. */
static const char *find_functions(struct mf_debuginfod *debuginfod, void *library)
{
	const struct {
		const char *name;
		void **address;
	} functions[] = {
		{ "debuginfod_begin", (void **)&debuginfod->begin },
		{ "debuginfod_end", (void **)&debuginfod->end },
		{ "debuginfod_find_debuginfo", (void **)&debuginfod->find_debuginfo },
		{ "debuginfod_set_progressfn", (void **)&debuginfod->set_progress },
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		*functions[i].address = dlsym(library, functions[i].name);
		if (!*functions[i].address)
			return functions[i].name;
	}
	return NULL;
}

static int set_servers(const char *urls, struct mf_error *err)
{
	const char *now;

	if (urls && setenv(URLS, urls, 1))
		return mf_error_set(err, -ENOMEM, "out of memory");
	now = getenv(URLS);
	if (now && now[strspn(now, " \t\n")])
		return 0;
	return mf_error_set(err, -EINVAL, "--debuginfod: no server is given: use --debuginfod=URL, or set " URLS);
}

/* The library stays loaded, because libraries that it needs do not support being unloaded. */
static int load(struct mf_debuginfod *debuginfod, struct mf_error *err)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	const char *lacks;

	if (!library)
		return mf_error_set(err, -ENOENT, "--debuginfod needs " LIBRARY " (Debian: apt install libdebuginfod1): %s",
				    dlerror());
	lacks = find_functions(debuginfod, library);
	if (lacks)
		return mf_error_set(err, -ENOENT, "--debuginfod: " LIBRARY " is too old: it has no %s()", lacks);
	debuginfod->client = debuginfod->begin();
	if (!debuginfod->client)
		return mf_error_set(err, -ENOMEM, "--debuginfod: " LIBRARY " cannot be used: out of memory");
	return 0;
}

int mf_debuginfod_open(const char *urls, void (*progress)(size_t done, size_t total),
		       struct mf_debuginfod **out, struct mf_error *err)
{
	struct mf_debuginfod *debuginfod;
	int code = set_servers(urls, err);

	if (code)
		return code;
	debuginfod = calloc(1, sizeof(*debuginfod));
	if (!debuginfod)
		return mf_error_set(err, -ENOMEM, "out of memory");
	pthread_mutex_init(&debuginfod->mutex, NULL);
	code = load(debuginfod, err);
	if (code) {
		mf_debuginfod_close(debuginfod);
		return code;
	}
	report = progress;
	if (progress)
		debuginfod->set_progress(debuginfod->client, pass_on);
	*out = debuginfod;
	return 0;
}

void mf_debuginfod_close(struct mf_debuginfod *debuginfod)
{
	if (!debuginfod)
		return;
	if (debuginfod->client)
		debuginfod->end(debuginfod->client);
	pthread_mutex_destroy(&debuginfod->mutex);
	free(debuginfod);
}

int mf_debuginfod_fetch(void *data, const uint8_t *build_id, size_t size)
{
	struct mf_debuginfod *debuginfod = data;
	int fd;

	pthread_mutex_lock(&debuginfod->mutex);
	fd = debuginfod->find_debuginfo(debuginfod->client, build_id, (int)size, NULL);
	if (fd < 0 && fd != -ENOENT)
		debuginfod->failure = fd;
	pthread_mutex_unlock(&debuginfod->mutex);
	return fd;
}

int mf_debuginfod_failure(const struct mf_debuginfod *debuginfod)
{
	return debuginfod->failure;
}
