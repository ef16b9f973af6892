// SPDX-License-Identifier: GPL-2.0
// Loads and unloads the module, and opens sessions, many times: unloading fails while the module is in use, and
// nothing is left behind.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_module.h"
#include "selftests/lib/kmod_session.h"

#define RING	(256 << 10)

/*
 * Returns the number of areas in /proc/vmallocinfo that the module's code has allocated. If @module_too is set, the
 * areas of the module itself are included.
 */
static int areas(bool module_too)
{
	FILE *file = fopen("/proc/vmallocinfo", "r");
	char line[1024];
	int count = 0;

	while (fgets(line, sizeof(line), file)) {
		if (strstr(line, "[massif]"))
			count++;
		else if (module_too && strstr(line, "massif"))
			count++;
	}
	fclose(file);
	return count;
}

static void churn(void)
{
	munmap(mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 8192);
}

static int churn_for_ever(void *arg)
{
	for (;;)
		churn();
	return 0;
}

/*
 * Maps and unmaps memory in an endless loop. Sleeps after each iteration, because arming the hooks involves waiting for
 * every processor.
 */
static int churn_now_and_then(void)
{
	for (;;) {
		churn();
		usleep(500);
	}
	return 0;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

FIXTURE(load)
{
	pid_t bystander;	/* a process outside any session that maps and unmaps memory continuously */
};

FIXTURE_SETUP(load)
{
	/* A failed test may have left the module loaded. */
	kmod_module_unload_soon("massif");
	self->bystander = fork();
	if (!self->bystander)
		_exit(churn_now_and_then());
	ASSERT_LT(0, self->bystander);
}

FIXTURE_TEARDOWN(load)
{
	end(self->bystander);
	kmod_module_unload_soon("massif");
}

TEST_F_TIMEOUT(load, a_hundred_times, 300)
{
	int i;

	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, kmod_module_load(""));
		ASSERT_EQ(0, access(MASSIF_DEVICE, F_OK));
		ASSERT_EQ(0, kmod_module_unload("massif"));
		ASSERT_EQ(-1, access(MASSIF_DEVICE, F_OK));
	}
	EXPECT_EQ(0, areas(true));
}

TEST_F_TIMEOUT(load, is_refused_to_leave_while_in_use, 60)
{
	struct kmod_session session;

	ASSERT_EQ(0, kmod_module_load(""));
	ASSERT_EQ(0, kmod_session_open(&session, RING, 4096));
	EXPECT_EQ(-EWOULDBLOCK, kmod_module_unload("massif"));

	/* A mapping of the ring keeps the module in use, too. */
	close(session.fd);
	session.fd = -1;
	EXPECT_EQ(-EWOULDBLOCK, kmod_module_unload("massif"));
	EXPECT_EQ(RING, session.control->data_bytes);
	kmod_session_close(&session);
	EXPECT_EQ(0, kmod_module_unload_soon("massif"));
	EXPECT_EQ(-ENOENT, kmod_module_unload("massif"));
}

/* Opens a session in which a program maps memory both when the session begins and when it ends. */
static int short_session(int round)
{
	struct kmod_session session;
	int err = kmod_session_open(&session, RING, 4096);
	int waited = 0;
	pid_t pid;

	if (err)
		return err;
	pid = kmod_session_call(&session, churn_for_ever, NULL);
	if (pid < 0)
		return pid;
	while (__atomic_load_n(&session.control->head, __ATOMIC_ACQUIRE) < 4096 && ++waited < 5000)
		usleep(1000);
	usleep(round % 7 * 1000);
	/* Some programs outlive their session; others end before it. */
	if (round % 3 == 0)
		end(pid);
	if (session.control->head == 0)
		err = -ENODATA;
	kmod_session_close(&session);
	if (round % 3)
		end(pid);
	return err;
}

static void sessions(struct __test_metadata *_metadata, int count)
{
	int i;

	for (i = 0; i < count; i++)
		ASSERT_EQ(0, short_session(i));
}

/* Caches of objects that a session could leak: address spaces, pids, and the module's own structures. */
static const char *const prefixes[] = { "mm_struct", "pid", "kmalloc-" };

#define SESSIONS	60	/* sessions between two counts of the kernel's objects */
/* The test fails if a cache grows in this many consecutive periods of SESSIONS sessions. */
#define COUNTS		2

/* Number of objects in use in each slab cache whose name begins with one of @prefixes. */
struct caches {
	size_t count;
	struct {
		char name[64];
		long objects;
	} at[512];
};

static bool may_hold_ours(const char *cache)
{
	size_t i;

	for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(cache, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/*
 * Shrinks a cache and returns the number of objects in it. All objects of a slab that a processor has reserved are
 * counted as in use (512 objects for kmalloc-8), which inflates the count, so this takes the minimum of several
 * readings.
 */
static long objects_of(const char *cache)
{
	long fewest = -1, objects;
	char path[PATH_MAX];
	FILE *file;
	int i;

	for (i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink", cache);
		file = fopen(path, "w");
		if (file && (fputs("1", file) == EOF || fclose(file)))
			return -1;
		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/objects", cache);
		file = fopen(path, "r");
		if (!file || fscanf(file, "%ld", &objects) != 1)
			return -1;
		fclose(file);
		if (fewest < 0 || objects < fewest)
			fewest = objects;
	}
	return fewest;
}

static void count_objects(struct caches *caches)
{
	DIR *dir;
	struct dirent *entry;

	/* RCU may free memory late: some kernels collect kfree_rcu() calls for five seconds. */
	sleep(6);
	dir = opendir("/sys/kernel/slab");
	caches->count = 0;
	while (dir && caches->count < 512 && (entry = readdir(dir))) {
		typeof(&caches->at[0]) cache = &caches->at[caches->count];

		if (!may_hold_ours(entry->d_name))
			continue;
		snprintf(cache->name, sizeof(cache->name), "%.63s", entry->d_name);
		cache->objects = objects_of(entry->d_name);
		caches->count += cache->objects >= 0;
	}
	if (dir)
		closedir(dir);
}

/*
 * Returns whether any cache has grown by about one object per session. The rest of the system also allocates, but not
 * in proportion to the number of sessions.
 */
static bool grew(const struct caches *before, const struct caches *now, long count)
{
	bool any = false;
	size_t i, j;

	for (i = 0; i < now->count; i++) {
		for (j = 0; j < before->count; j++)
			if (!strcmp(now->at[i].name, before->at[j].name))
				break;
		if (j == before->count || now->at[i].objects < before->at[j].objects + count * 4 / 5)
			continue;
		any = true;
		fprintf(stderr, "# %s: %ld, and %ld after %ld sessions\n", now->at[i].name,
			before->at[j].objects, now->at[i].objects, count);
	}
	return any;
}

/*
 * If each session leaks memory, a cache grows in every period. Activity elsewhere in the system can also make a cache
 * grow, but not in every period: on the debug kernel, kmalloc-128 grew by 137 objects in one period and by none in the
 * next.
 */
TEST_F_TIMEOUT(load, sessions_leave_nothing, 300)
{
	static struct caches before, now;
	int grown = 0;

	ASSERT_EQ(0, kmod_module_load(""));
	/*
	 * Run a few sessions first, so that memory that is allocated only once, by the first sessions, does not count
	 * as growth.
	 */
	sessions(_metadata, 10);

	count_objects(&now);
	ASSERT_LT(10, now.count);
	do {
		before = now;
		sessions(_metadata, SESSIONS);
		EXPECT_EQ(0, areas(false));
		count_objects(&now);
	} while (grew(&before, &now, SESSIONS) && ++grown < COUNTS);
	EXPECT_GT(COUNTS, grown);
	EXPECT_EQ(0, kmod_module_unload_soon("massif"));
	EXPECT_EQ(0, areas(true));
}

/* Unloads the module right after the last close, when threads may still be leaving its code. */
TEST_F_TIMEOUT(load, and_unload_right_after_a_session, 300)
{
	int i;

	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, kmod_module_load(""));
		ASSERT_EQ(0, short_session(i));
		ASSERT_EQ(0, kmod_module_unload_soon("massif"));
	}
}

TEST_HARNESS_MAIN
