// SPDX-License-Identifier: GPL-2.0
// After the OOM killer has killed the program, the file shows what held the memory at that time.

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/skip.h"

#define SECONDS 120
#define LIMIT	(48ul << 20)
#define GROUP	"a.groups/leak"
#define FILE_NAME "massif.out.oom"

FIXTURE(oom) {
	struct ctl_result result;
	bool mounted;
	char *text;
};

static bool say(const char *path, const char *words)
{
	FILE *file = fopen(path, "w");
	bool said;

	if (!file)
		return false;
	said = fputs(words, file) >= 0;
	return !fclose(file) && said;
}

static void unmount_groups(bool mounted)
{
	rmdir(GROUP);
	if (mounted)
		umount2("a.groups", MNT_DETACH);
	rmdir("a.groups");
}

FIXTURE_SETUP(oom)
{
	char limit[32];

	ctl_remove_files("massif.out");
	mkdir("a.groups", 0755);
	self->mounted = !mount("none", "a.groups", "cgroup2", 0, NULL);
	ASSERT_TRUE(self->mounted || errno == ENODEV);
	if (!self->mounted || !say("a.groups/cgroup.subtree_control", "+memory")) {
		unmount_groups(self->mounted);
		SKIP_SETUP("this kernel has no control groups of memory");
	}
	ASSERT_EQ(0, mkdir(GROUP, 0755));
	snprintf(limit, sizeof(limit), "%lu", LIMIT);
	ASSERT_TRUE(say(GROUP "/memory.max", limit));
}

FIXTURE_TEARDOWN(oom)
{
	unmount_groups(self->mounted);
	ctl_remove_files("massif.out");
	ctl_result_free(&self->result);
	free(self->text);
}

/* Runs the program to completion. Returns the text of the last snapshot in the program's massif.out file. */
static const char *run(struct __test_metadata *_metadata, FIXTURE_DATA(oom) *self, const char *option)
{
	char *events;

	CTL_RUN(&self->result, "massif-ctl", "-q", option, "--massif-out-file=" FILE_NAME,
		ctl_target("ctl_oom"), GROUP "/cgroup.procs");
	EXPECT_EQ(128 + SIGKILL, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	events = ctl_read_file(GROUP "/memory.events");
	EXPECT_EQ(1, ctl_number(events ?: "", "oom_kill "));
	free(events);
	self->text = ctl_read_file(FILE_NAME);
	EXPECT_NE(NULL, self->text);
	if (!self->text)
		return "";
	EXPECT_TRUE(ctl_is_massif_file(self->text));
	return ctl_last(self->text, "snapshot=");
}

/* Returns the sum of the bytes on all lines of @tree that contain @words. */
static unsigned long bytes_at(const char *tree, const char *words)
{
	unsigned long sum = 0;

	for (const char *at = strstr(tree, words); at; at = strstr(at + 1, words)) {
		const char *line = at, *bytes;

		while (line > tree && line[-1] != '\n')
			line--;
		bytes = strchr(line, ':');
		sum += strtoul(bytes + 1, NULL, 10);
	}
	return sum;
}

static void expect_leak(struct __test_metadata *_metadata, const char *last)
{
	unsigned long heap = ctl_number(last, "mem_heap_B=");

	/*
	 * The heap can never grow to the cgroup's memory limit, because the shim's memory is charged to the cgroup as
	 * well. A memset() that writes with several instructions gives several lines with pages first touched.
	 */
	EXPECT_LT(LIMIT / 100 * 80, heap);
	EXPECT_LT(heap / 100 * 90, bytes_at(last, ": leak (ctl_oom.c:")) {
		TH_LOG("%lu bytes:\n%s", heap, last);
	}
}

TEST_F_TIMEOUT(oom, of_heap, SECONDS)
{
	const char *last = run(_metadata, self, "--heap=yes");

	EXPECT_GT(LIMIT, ctl_number(last, "mem_heap_B="));
	EXPECT_NE(NULL, strstr(last, "heap_tree=peak\n"));
	expect_leak(_metadata, last);
}

TEST_F_TIMEOUT(oom, of_pages, SECONDS)
{
	const char *last = run(_metadata, self, "--pages-as-heap=yes");

	EXPECT_NE(NULL, strstr(last, "heap_tree=peak\n"));
	expect_leak(_metadata, last);
}

/*
 * Before the OOM kill, the kernel reclaims some pages and later reads them back, so the program's resident memory does
 * not necessarily peak at the end.
 */
TEST_F_TIMEOUT(oom, of_resident_pages, SECONDS)
{
	const char *last = run(_metadata, self, "--pages=resident");

	EXPECT_EQ(NULL, strstr(last, "heap_tree=empty\n"));
	expect_leak(_metadata, last);
}

TEST_HARNESS_MAIN
