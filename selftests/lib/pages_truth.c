// SPDX-License-Identifier: GPL-2.0
// Compares the profile of the resident pages of a stopped process with /proc.

#include "selftests/lib/pages_truth.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/massif.h>

#include "model/model.h"
#include "model/trie.h"

#define TRIES 20

/* Resident and virtual size of a process according to the kernel, in bytes. */
struct truth {
	uint64_t rss, vm;
};

static uint64_t field(const char *path, const char *name)
{
	char text[16384];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t used = 0, got;
	const char *at;

	while (fd >= 0 && used < (ssize_t)sizeof(text) - 1 &&
	       (got = read(fd, text + used, sizeof(text) - 1 - (size_t)used)) > 0)
		used += got;
	close(fd);
	text[used] = '\0';
	at = strstr(text, name);
	return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

static struct truth read_truth(pid_t pid)
{
	char status[64], rollup[64];

	snprintf(status, sizeof(status), "/proc/%d/status", pid);
	snprintf(rollup, sizeof(rollup), "/proc/%d/smaps_rollup", pid);
	return (struct truth){
		.rss = field(rollup, "\nRss:"),
		.vm = field(status, "\nVmSize:"),
	};
}

/* Returns the sum of the bytes of all contexts. */
static uint64_t sum_of(const struct mf_store *store)
{
	uint64_t sum = 0, bytes;

	for (uint32_t i = MF_CONTEXT_FIRST; i < store->header->n_contexts; i++) {
		mf_trie_sum(store, i, 1, &bytes);
		sum += bytes;
	}
	return sum;
}

bool mf_truth_has_resident(void)
{
	struct massif_query query = {.size = sizeof(query)};
	int fd = open(MASSIF_DEVICE, O_RDWR | O_CLOEXEC);
	bool has = fd >= 0 && !ioctl(fd, MASSIF_IOC_QUERY, &query) &&
		   query.features & MASSIF_FEATURE_RESIDENT;

	close(fd);
	return has;
}

struct mf_pages_options mf_truth_options(enum mf_pages_what what)
{
	return (struct mf_pages_options){
		.model = {
			.peak_inaccuracy = 1.0,
			.max_snapshots = 100,
			.detailed_freq = 10,
			.time_unit = MF_TIME_BYTES,
		},
		.what = what,
		.depth = 30,
	};
}

bool mf_truth_is_told(struct mf_pages *pages, pid_t pid, enum mf_pages_what what,
		      struct mf_error *err)
{
	const struct mf_pages_process *process;
	const struct mf_model *model;
	struct truth truth;
	uint64_t sum;

	for (int i = 0; i < TRIES; i++) {
		if (mf_pages_drain(pages, err))
			return false;
		process = mf_pages_find(pages, pid);
		/* Before the process has called exec, it has no profile to compare with the kernel's numbers. */
		if (!process)
			return true;
		model = mf_model_of(process->store);
		truth = read_truth(pid);
		sum = sum_of(process->store);
		if (model->heap == truth.rss && sum == model->heap + model->extra &&
		    (what == MF_PAGES_RESIDENT ? model->extra == 0 :
						 model->heap + model->extra == truth.vm))
			return true;
	}
	mf_error_set(err, -1,
		     "kernel rss %" PRIu64 " vm %" PRIu64 ", model %" PRIu64 " + %" PRIu64 ", tree %" PRIu64,
		     truth.rss, truth.vm, model->heap, model->extra, sum);
	return false;
}
