// SPDX-License-Identifier: GPL-2.0
// Runs a program under the shim and keeps the session's shared memory mapped.

#include "selftests/lib/heap_session.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/model.h"
#include "model/tally.h"
#include "model/trie.h"
#include "selftests/lib/capture_read.h"

static void execute(int fd, const char *preload, const char *const *argv)
{
	const char *build = getenv("MASSIF_BUILD");
	char path[2 * PATH_MAX], number[16];

	snprintf(path, sizeof(path), "%s/libmassif-preload.so%s%s", build ? build : "build",
		 preload ? ":" : "", preload ? preload : "");
	snprintf(number, sizeof(number), "%d", fcntl(fd, F_DUPFD, 100));
	setenv("LD_PRELOAD", path, 1);
	setenv("MASSIF_SESSION", number, 1);
	execvp(argv[0], (char *const *)argv);
	perror(argv[0]);
	_exit(127);
}

static uint64_t nanoseconds(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

static bool wait_for(struct heap_session *session, pid_t pid, struct rusage *usage)
{
	pid_t ended;

	while (!(ended = wait4(pid, &session->status, session->meanwhile ? WNOHANG : 0, usage))) {
		session->meanwhile(&session->store);
		usleep(1000);
	}
	return ended == pid;
}

bool heap_session_run(struct heap_session *session, const char *const *argv)
{
	static const struct mf_model_options options = {
		.peak_inaccuracy = 1.0,
		.max_snapshots = 100,
		.detailed_freq = 2,
		.time_unit = MF_TIME_BYTES,
		.heap_admin = 8,
		.alignment = 16,
	};
	struct mf_error err;
	struct rusage usage;
	pid_t pid;
	int fd;

	if ((session->details ? mf_store_create_detailed : mf_store_create)(&session->store, session->budget, &fd, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return false;
	}
	mf_model_init(&session->store, &options);
	session->store.header->depth = 80;
	if (session->prepare)
		session->prepare(&session->store);
	pid = fork();
	if (pid == 0)
		execute(fd, session->preload, argv);
	close(fd);
	if (pid < 0 || !wait_for(session, pid, &usage)) {
		perror("fork");
		return false;
	}
	mf_tally_fold(&session->store);
	session->cpu_ns = nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
	return true;
}

void heap_session_end(struct heap_session *session)
{
	mf_store_detach(&session->store);
}

static void add_block(const struct mf_block *block, void *data)
{
	struct heap_session_sums *sums = data;

	sums->blocks += block->size;
	sums->n_blocks++;
}

struct heap_session_sums heap_session_sum(const struct heap_session *session)
{
	struct heap_session_sums sums = { .model = mf_model_of(&session->store)->heap };

	for (uint32_t i = MF_CONTEXT_FIRST; i < session->store.header->n_contexts; i++) {
		uint64_t bytes;

		mf_trie_sum(&session->store, i, 1, &bytes);
		sums.contexts += bytes;
	}
	mf_blocks_walk(&session->store, add_block, &sums);
	return sums;
}

uint32_t heap_session_unequal_trees(const struct heap_session *session, uint32_t *trees)
{
	static struct mf_snapshot_view views[MF_SNAPSHOTS_MAX];
	uint32_t n = mf_model_view(&session->store, views), unequal = 0;
	uint32_t n_contexts = session->store.header->n_contexts;
	uint64_t *bytes = calloc(n_contexts, sizeof(*bytes));

	*trees = 0;
	for (uint32_t i = 0; bytes && i < n; i++) {
		uint64_t sum = 0;
		uint32_t held;

		if (views[i].tree == MF_TREE_EMPTY)
			continue;
		held = capture_read(&session->store, views[i].snapshot.capture, bytes, n_contexts);
		for (uint32_t j = 0; j < held && j < n_contexts; j++)
			sum += bytes[j];
		unequal += sum != views[i].snapshot.heap;
		++*trees;
	}
	free(bytes);
	return unequal;
}

struct wanted {
	uint64_t size, found;
};

static void match_block(const struct mf_block *block, void *data)
{
	struct wanted *wanted = data;

	wanted->found += block->size == wanted->size;
}

uint64_t heap_session_count(const struct heap_session *session, uint64_t size)
{
	struct wanted wanted = { .size = size };

	mf_blocks_walk(&session->store, match_block, &wanted);
	return wanted.found;
}
