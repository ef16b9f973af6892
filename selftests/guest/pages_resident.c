// SPDX-License-Identifier: GPL-2.0
// Resident pages of real programs: at many moments the profile has what the kernel has.
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/massif.h>

#include "kselftest_harness.h"
#include "model/model.h"
#include "model/trie.h"
#include "pages/pages.h"

#define MOMENTS_MAX 40

static const char python[] =
	"import json, mmap\n"
	"d = {str(i): [i, 'x' * (i % 300)] for i in range(20000)}\n"
	"s = json.dumps(d); d = json.loads(s)\n"
	"m = mmap.mmap(-1, 8 << 20)\n"
	"for i in range(0, 8 << 20, 8192): m[i] = 1\n"
	"del d; m.close(); l = [bytes(5000) for i in range(3000)]\n";

static const char sql[] =
	"create table t(a integer primary key, b);"
	"with recursive c(x) as (select 1 union all select x+1 from c where x<60000)"
	"insert into t select x, hex(x)||'abcdefghijklmnop' from c;"
	"create index i on t(b); select count(*) from t;";

/* What the kernel has, in bytes. */
struct truth {
	uint64_t rss, anon, vm;
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
		.anon = field(rollup, "\nAnonymous:"),
		.vm = field(status, "\nVmSize:"),
	};
}

/* The sum over all stacks. */
static uint64_t sum_of(const struct mf_store *store)
{
	uint64_t sum = 0, bytes;

	for (uint32_t i = MF_CONTEXT_FIRST; i < store->header->n_contexts; i++) {
		mf_trie_sum(store, i, 1, &bytes);
		sum += bytes;
	}
	return sum;
}

FIXTURE(resident)
{
	struct mf_pages *pages;
	struct mf_error err;
	char target[512];
	int moments, wrong;
};

FIXTURE_VARIANT(resident)
{
	enum mf_pages_what what;
	const char *argv[5]; /* the first NULL: selftests/targets/resident */
	int moments;	     /* at least */
	bool attach;	     /* when it has run for a while */
	bool loses;	     /* the ring is too small, and read too seldom */
};

#define VARIANT(name, ...) FIXTURE_VARIANT_ADD(resident, name) { __VA_ARGS__ }

VARIANT(python3, MF_PAGES_RESIDENT, { "python3", "-c", python }, 5);
VARIANT(python3_both, MF_PAGES_BOTH, { "python3", "-c", python }, 5);
VARIANT(sqlite3, MF_PAGES_RESIDENT, { "sqlite3", ":memory:", sql }, 5);
VARIANT(sqlite3_both, MF_PAGES_BOTH, { "sqlite3", ":memory:", sql }, 5);
VARIANT(python3_attach, MF_PAGES_RESIDENT, { "python3", "-c", python }, 3, true);
VARIANT(python3_attach_both, MF_PAGES_BOTH, { "python3", "-c", python }, 3, true);
VARIANT(python3_loses, MF_PAGES_RESIDENT, { "python3", "-c", python }, 3, .loses = true);
VARIANT(threads_lose_both, MF_PAGES_BOTH, { NULL, "threads" }, 2, .loses = true);
VARIANT(every_way, MF_PAGES_RESIDENT, { NULL }, 1);
VARIANT(every_way_both, MF_PAGES_BOTH, { NULL }, 1);
VARIANT(threads, MF_PAGES_RESIDENT, { NULL, "threads" }, 3);
VARIANT(threads_both, MF_PAGES_BOTH, { NULL, "threads" }, 3);

static bool has_resident(void)
{
	struct massif_query query = { .size = sizeof(query) };
	int fd = open(MASSIF_DEVICE, O_RDWR | O_CLOEXEC);
	bool has = fd >= 0 && !ioctl(fd, MASSIF_IOC_QUERY, &query) &&
		   query.features & MASSIF_FEATURE_RESIDENT;

	close(fd);
	return has;
}

FIXTURE_SETUP(resident)
{
	struct mf_pages_options options = {
		.model = {
			.peak_inaccuracy = 1.0,
			.max_snapshots = 100,
			.detailed_freq = 10,
			.time_unit = MF_TIME_BYTES,
		},
		.what = variant->what,
		.depth = 30,
		.ring_bytes = variant->loses ? 256 << 10 : 0,
	};

	if (!has_resident())
		SKIP(return, "this kernel has no CONFIG_MMU_NOTIFIER");
	snprintf(self->target, sizeof(self->target), "%s/selftests/targets/resident",
		 getenv("MASSIF_BUILD") ?: "build");
	setenv("RESIDENT_LOG", "/dev/null", 1);
	ASSERT_EQ(0, mf_pages_open(&options, &self->pages, &self->err)) {
		TH_LOG("%s", self->err.text);
	}
}

FIXTURE_TEARDOWN(resident)
{
	mf_pages_close(self->pages);
}

static const struct mf_pages_process *find(const struct mf_pages *pages, pid_t pid)
{
	for (size_t i = 0; i < mf_pages_count(pages); i++)
		if (mf_pages_process(pages, i)->pid == pid)
			return mf_pages_process(pages, i);
	return NULL;
}

/* Nothing moves in the program: is the profile right? What does not agree is read anew. */
static void compare(struct __test_metadata *_metadata, FIXTURE_DATA(resident) *self,
		    const FIXTURE_VARIANT(resident) *variant, pid_t pid)
{
	const struct mf_pages_process *process;
	const struct mf_model *model;
	struct truth truth = { 0 };
	bool right = false;

	for (int i = 0; i < 20 && !right; i++) {
		ASSERT_EQ(0, mf_pages_drain(self->pages, &self->err)) {
			TH_LOG("%s", self->err.text);
		}
		process = find(self->pages, pid);
		/* Before its exec. */
		if (!process)
			return;
		model = mf_model_of(process->store);
		truth = read_truth(pid);
		right = model->heap == truth.rss && sum_of(process->store) ==
							    model->heap + model->extra &&
			(variant->what == MF_PAGES_RESIDENT ? model->extra == 0 :
							      model->heap + model->extra == truth.vm);
	}
	self->moments++;
	if (right)
		return;
	self->wrong++;
	TH_LOG("moment %d: kernel rss %" PRIu64 " vm %" PRIu64 ", model %" PRIu64 " + %" PRIu64
	       ", tree %" PRIu64,
	       self->moments, truth.rss, truth.vm, model->heap, model->extra,
	       sum_of(process->store));
}

TEST_F_TIMEOUT(resident, equals_the_kernels, 150)
{
	const char *argv[5];
	pid_t pid;
	int status = 0;

	memcpy(argv, variant->argv, sizeof(argv));
	if (!argv[0])
		argv[0] = self->target;
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 1);
		if (!variant->attach && mf_pages_enrol(self->pages))
			_exit(126);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	if (variant->attach) {
		usleep(300000);
		ASSERT_EQ(0, mf_pages_join(self->pages, pid, &self->err)) {
			TH_LOG("%s", self->err.text);
		}
	}
	/* Ever longer, so that short programs and long ones have enough moments. */
	for (int i = 0; ; i++) {
		struct pollfd device = { .fd = mf_pages_fd(self->pages), .events = POLLIN };

		for (int ms = 0; ms < 20 + i * 10; ms += 5) {
			usleep(5000);
			if (variant->loses)
				continue;
			poll(&device, 1, 0);
			ASSERT_EQ(0, mf_pages_drain(self->pages, &self->err));
		}
		if (i < MOMENTS_MAX)
			kill(pid, SIGSTOP);
		ASSERT_EQ(pid, waitpid(pid, &status, i < MOMENTS_MAX ? WUNTRACED : 0));
		if (!WIFSTOPPED(status))
			break;
		compare(_metadata, self, variant, pid);
		kill(pid, SIGCONT);
	}
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, self->wrong);
	EXPECT_LE(variant->moments, self->moments);
	TH_LOG("%d moments", self->moments);
	for (int i = 0; i < 100 && !mf_pages_done(self->pages); i++) {
		ASSERT_EQ(0, mf_pages_drain(self->pages, &self->err));
		usleep(20000);
	}
	ASSERT_EQ(0, mf_pages_end(self->pages, &self->err));
	ASSERT_NE(NULL, find(self->pages, pid));
	EXPECT_EQ(!variant->loses, find(self->pages, pid)->exact);
	EXPECT_EQ(variant->loses, find(self->pages, pid)->lost > 0);
}

TEST_HARNESS_MAIN
