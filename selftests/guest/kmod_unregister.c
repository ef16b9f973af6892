// SPDX-License-Identifier: GPL-2.0
// Checks that a kprobe is not reused after the kernel has failed to unregister it.
//
// Unregistering needs memory in order to remove the function from ftrace's filter. If none is available, the kernel
// keeps the probe in its lists forever. The test makes the n-th allocation fail while sessions are being closed. The
// module cannot be unloaded afterwards (tests.conf: stays). Needs a kernel with /proc/PID/fail-nth, such as the debug
// kernel.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/fail_nth.h"
#include "selftests/lib/kmod_module.h"
#include "selftests/lib/kmod_session.h"

#define RING	(1 << 20)
#define PAGE	4096ul

/* Length of the mapping by which this test recognises its own records; no other mapping has it. */
#define MAPPED	(101 * PAGE)

/* Upper limit on the number of allocations made while a session is closed. If more are made, the test fails. */
#define MOST	500

#define PANIC	"/proc/sys/kernel/panic_on_warn"

/* The kernel's two warnings about the failure, which are the only warnings expected, and the module's message. */
#define FAILED	"Failed to disarm kprobe-ftrace at "
#define FAILED_LAST "Failed to unregister kprobe-ftrace"
#define STAYS	"the kernel cannot remove the probe on "

/*
 * Opens a session that also reports resident pages: the hooks needed for that are plain kprobes, all others are
 * kretprobes.
 */
static int open_all(struct kmod_session *session)
{
	return kmod_session_open_as(session, &(struct massif_setup){
		.ring_bytes = RING,
		.flags = MASSIF_SETUP_RESIDENT,
	});
}

static unsigned int count(const char *log, const char *text)
{
	unsigned int times = 0;

	while ((log = strstr(log, text))) {
		times++;
		log++;
	}
	return times;
}

/* Logs the lines of @log that contain @text. */
static void show_lines(struct __test_metadata *_metadata, const char *log, const char *text)
{
	for (; (log = strstr(log, text)); log++)
		TH_LOG("%.*s", (int)strcspn(log, "\n"), log);
}

/*
 * Returns the contents of the kernel's log since it was last cleared, or NULL if out of memory. The caller must free
 * the result.
 */
static char *read_log(void)
{
	int size = klogctl(10, NULL, 0); /* 10 is SYSLOG_ACTION_SIZE_BUFFER */
	char *log = size > 0 ? calloc(1, size + 1) : NULL;

	if (log && klogctl(3, log, size) < 0) /* 3 is SYSLOG_ACTION_READ_ALL */
		log[0] = '\0';
	return log;
}

static int read_number(const char *path)
{
	FILE *file = fopen(path, "r");
	int number = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%d", &number) != 1)
		number = -1;
	fclose(file);
	return number;
}

static bool write_number(const char *path, int number)
{
	FILE *file = fopen(path, "w");

	return file && fprintf(file, "%d\n", number) > 0 && !fclose(file);
}

/* Removes the ring's mappings, so that close() of the file ends the session. */
static void unmap(struct kmod_session *session)
{
	munmap(session->control, PAGE);
	munmap(session->consumer, PAGE);
	munmap(session->data, session->bytes);
}

/* Maps, populates and unmaps memory, which calls the hooked functions. */
static int map_once(void *arg)
{
	char *at = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)arg;
	if (at == MAP_FAILED)
		return 1;
	madvise(at, MAPPED, MADV_NOHUGEPAGE);
	mlock(at, MAPPED);
	return munmap(at, MAPPED);
}

struct seen {
	unsigned int maps, unmaps, drifts, lost;
	int64_t pages;	/* populated by mlock() */
};

static int note(const struct massif_record *rec, void *arg)
{
	const struct massif_rec_resident *resident = (const void *)rec;
	const struct massif_rec_map *map = (const void *)rec;
	struct seen *seen = arg;

	switch (rec->type) {
	case MASSIF_REC_MAP:
		seen->maps += map->len == MAPPED;
		break;
	case MASSIF_REC_UNMAP:
		seen->unmaps += map->len == MAPPED;
		break;
	case MASSIF_REC_LOST:
		seen->lost++;
		break;
	case MASSIF_REC_RESIDENT:
		seen->drifts += resident->cause == MASSIF_RESIDENT_DRIFT;
		if (resident->cause == MASSIF_RESIDENT_POPULATE)
			seen->pages += resident->change[MASSIF_RSS_ANON];
		break;
	}
	return 0;
}

/* Opens a session and runs a program in it. Each of the program's calls must be reported exactly once. */
static void use_session(struct __test_metadata *_metadata, struct kmod_session *session)
{
	struct massif_hook_info first = { .size = sizeof(first) };
	struct seen seen = { 0 };
	int code = -1;
	pid_t pid;

	ASSERT_EQ(0, open_all(session));
	ASSERT_EQ(0, ioctl(session->fd, MASSIF_IOC_HOOK, &first));
	ASSERT_EQ(MASSIF_HOOK_KRETPROBE, first.kind);
	pid = kmod_session_call(session, map_once, NULL);
	ASSERT_LT(0, pid);
	EXPECT_EQ(0, kmod_session_drain(session, 20000, note, &seen));
	ASSERT_EQ(pid, waitpid(pid, &code, 0));
	EXPECT_EQ(0, code);
	EXPECT_EQ(1, seen.maps);
	EXPECT_EQ(1, seen.unmaps);
	EXPECT_EQ(MAPPED / PAGE, seen.pages);
	EXPECT_EQ(0, seen.drifts);
	EXPECT_EQ(0, seen.lost);
}

FIXTURE(unregister)
{
	int nth;
	int panics;	/* value of kernel.panic_on_warn before the test */
};

FIXTURE_SETUP(unregister)
{
	self->nth = fail_nth_open();
	if (self->nth < 0)
		return;
	ASSERT_TRUE(fail_nth_prepare());
	self->panics = read_number(PANIC);
	ASSERT_LE(0, self->panics);
	/* Do not panic on a warning: the kernel warns about the failure that this test provokes. */
	ASSERT_TRUE(write_number(PANIC, 0));
	ASSERT_EQ(0, kmod_module_load("detours=0"));
}

FIXTURE_TEARDOWN(unregister)
{
	if (self->nth < 0)
		return;
	EXPECT_TRUE(write_number(PANIC, self->panics));
	close(self->nth);
}

TEST_F_TIMEOUT(unregister, a_probe_that_stays_is_not_used_again, 600)
{
	unsigned int n, failures = 0;
	struct kmod_session session;
	bool failed = true;
	char *log;
	int users;

	if (self->nth < 0)
		SKIP(return, "this kernel cannot make calls fail: no /proc/PID/fail-nth");
	use_session(_metadata, &session);
	for (n = 1; failed && n < MOST; n++) {
		unmap(&session);
		fail_nth(self->nth, n);
		close(session.fd);
		failed = fail_nth_ended(self->nth);
		failures += failed;
		use_session(_metadata, &session);
	}
	kmod_session_close(&session);
	EXPECT_FALSE(failed);
	EXPECT_LE(10, failures);

	log = read_log();
	ASSERT_NE(NULL, log);
	/* massif_kprobe_free() takes a reference to the module for each probe that stays registered. */
	users = kmod_module_users();
	TH_LOG("%u failures, after which %d probes stay", failures, users);
	EXPECT_LT(0, users);
	EXPECT_LT(0, count(log, STAYS));
	EXPECT_EQ(count(log, "WARNING:"), count(log, FAILED) + count(log, FAILED_LAST)) {
		show_lines(_metadata, log, "WARNING:");
		show_lines(_metadata, log, FAILED);
		show_lines(_metadata, log, FAILED_LAST);
	}
	EXPECT_EQ(0, count(log, "BUG:") + count(log, "KASAN") + count(log, "Oops"));
	free(log);
	/* Clear the kernel's log, so that the runner of the guest tests does not find the expected warnings. */
	if (users > 0)
		EXPECT_LE(0, klogctl(5, NULL, 0)); /* 5 is SYSLOG_ACTION_CLEAR */
}

TEST_HARNESS_MAIN
