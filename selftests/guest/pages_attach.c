// SPDX-License-Identifier: GPL-2.0
// Attaches repeatedly, at random times, to a program that keeps mapping, touching and unmapping memory.
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "pages/pages.h"
#include "selftests/lib/pages_truth.h"
#include "selftests/lib/skip.h"

/* The number of times the test attaches, unless MASSIF_ATTACHES is set. */
#define ATTACHES 6
#define MOMENTS	 3

FIXTURE(attach)
{
	char target[512];
	pid_t pid;
	int wrong;
};

FIXTURE_VARIANT(attach)
{
	enum mf_pages_what what;
	const char *threads;
};

#define VARIANT(name, ...) FIXTURE_VARIANT_ADD(attach, name) { __VA_ARGS__ }

VARIANT(resident, MF_PAGES_RESIDENT, "1");
VARIANT(both, MF_PAGES_BOTH, "1");
VARIANT(threads_resident, MF_PAGES_RESIDENT, "3");
VARIANT(threads_both, MF_PAGES_BOTH, "3");

FIXTURE_SETUP(attach)
{
	self->wrong = 0;
	if (!mf_truth_has_resident())
		SKIP_SETUP("this kernel has no CONFIG_MMU_NOTIFIER");
	snprintf(self->target, sizeof(self->target), "%s/selftests/targets/churn",
		 getenv("MASSIF_BUILD") ?: "build");
	self->pid = fork();
	ASSERT_LE(0, self->pid);
	if (!self->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* The last argument is a file with more pages than one fault maps. */
		execl(self->target, self->target, variant->threads, "/bin/bash", NULL);
		_exit(127);
	}
}

FIXTURE_TEARDOWN(attach)
{
	if (self->pid <= 0)
		return;
	kill(self->pid, SIGKILL);
	waitpid(self->pid, NULL, 0);
}

static void run_for(struct mf_pages *pages, unsigned int ms, struct mf_error *err)
{
	struct pollfd device = { .fd = mf_pages_fd(pages), .events = POLLIN };

	for (unsigned int passed = 0; passed < ms; passed += 2) {
		usleep(2000);
		poll(&device, 1, 0);
		mf_pages_drain(pages, err);
	}
}

/* Attaches with a new session, then stops the program MOMENTS times and compares the pages each time. */
static void attach_once(struct __test_metadata *_metadata, FIXTURE_DATA(attach) *self,
			const FIXTURE_VARIANT(attach) *variant, int time)
{
	struct mf_pages_options options = mf_truth_options(variant->what);
	struct mf_pages *pages;
	struct mf_error err;

	ASSERT_EQ(0, mf_pages_open(&options, &pages, &err)) {
		TH_LOG("%s", err.text);
	}
	usleep((unsigned int)(random() % 20000));
	ASSERT_EQ(0, mf_pages_join(pages, self->pid, &err)) {
		TH_LOG("%s", err.text);
	}
	for (int moment = 0; moment < MOMENTS; moment++) {
		int status;

		run_for(pages, 1 + (unsigned int)random() % 20, &err);
		kill(self->pid, SIGSTOP);
		ASSERT_EQ(self->pid, waitpid(self->pid, &status, WUNTRACED));
		ASSERT_TRUE(WIFSTOPPED(status));
		if (!mf_truth_is_told(pages, self->pid, variant->what, &err)) {
			TH_LOG("attached %d times, moment %d: %s", time + 1, moment + 1, err.text);
			self->wrong++;
		}
		kill(self->pid, SIGCONT);
	}
	mf_pages_close(pages);
}

TEST_F_TIMEOUT(attach, equals_the_kernels, 150)
{
	int times = atoi(getenv("MASSIF_ATTACHES") ?: "0");

	srandom((unsigned int)getpid());
	for (int i = 0; i < (times ?: ATTACHES); i++)
		attach_once(_metadata, self, variant, i);
	EXPECT_EQ(0, self->wrong);
}

TEST_HARNESS_MAIN
