// SPDX-License-Identifier: GPL-2.0
// Checks the resident pages of real programs: the profile must agree with the kernel at many points during the run.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "pages/pages.h"
#include "selftests/lib/pages_truth.h"
#include "selftests/lib/process_state.h"
#include "selftests/lib/skip.h"

#define MOMENTS_MAX 40

/*
 * A program that, even on a fast machine, runs long enough for its profile to be compared with its resident size as
 * many times as the test requires.
 */
static const char python[] =
	"import json, mmap\n"
	"for n in range(4):\n"
	"  d = {str(i): [i, 'x' * (i % 300)] for i in range(20000)}\n"
	"  s = json.dumps(d); d = json.loads(s)\n"
	"  m = mmap.mmap(-1, 8 << 20)\n"
	"  for i in range(0, 8 << 20, 8192): m[i] = 1\n"
	"  del d; m.close(); l = [bytes(5000) for i in range(3000)]\n";

static const char sql[] =
	"create table t(a integer primary key, b);"
	"with recursive c(x) as (select 1 union all select x+1 from c where x<150000)"
	"insert into t select x, hex(x)||'abcdefghijklmnop' from c;"
	"create index i on t(b); select count(*) from t;";

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
	const char *argv[5]; /* command line; if argv[0] is NULL, selftests/targets/resident */
	/* the profile must be compared with the process's resident size at least this many times during the run */
	int moments;
	bool attach;	     /* true to attach after the program has run for a while */
	bool loses;	     /* true to cause lost records, by making the ring too small and reading it too rarely */
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
VARIANT(every_way, MF_PAGES_RESIDENT, { NULL, "again" }, 1);
VARIANT(every_way_both, MF_PAGES_BOTH, { NULL, "again" }, 1);
VARIANT(threads, MF_PAGES_RESIDENT, { NULL, "threads" }, 3);
VARIANT(threads_both, MF_PAGES_BOTH, { NULL, "threads" }, 3);

FIXTURE_SETUP(resident)
{
	struct mf_pages_options options = mf_truth_options(variant->what);

	options.ring_bytes = variant->loses ? 256 << 10 : 0;
	if (!mf_truth_has_resident())
		SKIP_SETUP("this kernel has no CONFIG_MMU_NOTIFIER");
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
		ASSERT_TRUE(process_await_exec(pid));
		usleep(300000);
		ASSERT_EQ(0, mf_pages_join(self->pages, pid, &self->err)) {
			TH_LOG("%s", self->err.text);
		}
	}
	/* The intervals between comparisons grow, so that both short and long programs are compared often enough. */
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
		self->moments += mf_pages_find(self->pages, pid) != NULL;
		if (!mf_truth_is_told(self->pages, pid, variant->what, &self->err)) {
			TH_LOG("moment %d: %s", self->moments, self->err.text);
			self->wrong++;
		}
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
	ASSERT_NE(NULL, mf_pages_find(self->pages, pid));
	EXPECT_EQ(!variant->loses, mf_pages_find(self->pages, pid)->exact);
	EXPECT_EQ(variant->loses, mf_pages_find(self->pages, pid)->lost > 0);
}

TEST_HARNESS_MAIN
