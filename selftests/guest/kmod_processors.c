// SPDX-License-Identifier: GPL-2.0
// Takes a processor offline and brings it back online while a profiled process touches pages: each page must be
// reported by a record of the fault that touched it.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_session.h"

#define PAGE	4096ul
#define MARKS	0x600000000000ull

#define ONLINE		"/sys/devices/system/cpu/cpu1/online"
/*
 * BEFORE is the number of pages touched each time before processor 1 is taken offline, and BEHIND is the number of
 * pages touched at the end. Both are small enough for the kernel to keep the changes to the resident counts in the
 * processor's own counters for the time being, rather than adding them to the totals.
 */
#define BEFORE		5
#define BEHIND		9

static bool put_online(char on)
{
	int fd = open(ONLINE, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, &on, 1) == 1;

	if (fd >= 0)
		close(fd);
	return ok;
}

static bool run_on(int processor)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(processor, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

/*
 * Touches pages on processor 1, takes processor 1 offline and back online, touches pages on processor 0, takes
 * processor 1 offline and back online once more, and touches the last pages on processor 1.
 */
static int touch_and_take_off(void *arg)
{
	char *at = mmap((void *)MARKS, (2 * BEFORE + BEHIND) * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	int round, i;

	if (at == MAP_FAILED || madvise(at, (2 * BEFORE + BEHIND) * PAGE, MADV_NOHUGEPAGE) || !run_on(1))
		return 1;
	for (i = 0; i < BEFORE; i++, at += PAGE)
		*at = 1;
	for (round = 0; round < 2; round++) {
		if (!put_online('0') || !put_online('1'))
			return 2;
		if (!round && !run_on(0))
			return 3;
		for (i = 0; !round && i < BEFORE; i++, at += PAGE)
			*at = 1;
	}
	if (!run_on(1))
		return 4;
	for (i = 0; i < BEHIND; i++, at += PAGE)
		*at = 1;
	return 0;
}

struct touched {
	/*
	 * @single: number of RESIDENT records for page faults in the test's pages that add exactly one page.
	 * @other: number of such records that add any other number of pages, plus the number of all DRIFT records.
	 */
	int single, other;
};

static int take_touched(const struct massif_record *rec, void *arg)
{
	const struct massif_rec_resident *resident = (const void *)rec;
	struct touched *seen = arg;
	bool ours = rec->type == MASSIF_REC_RESIDENT && resident->addr - MARKS < (2 * BEFORE + BEHIND) * PAGE;

	if (ours && resident->cause == MASSIF_RESIDENT_FAULT)
		*(resident->change[MASSIF_RSS_ANON] == 1 ? &seen->single : &seen->other) += 1;
	if (rec->type == MASSIF_REC_RESIDENT && resident->cause == MASSIF_RESIDENT_DRIFT)
		seen->other++;
	return 0;
}

/*
 * When a processor goes offline, the kernel adds the changes in the processor's own counters to the totals. This does
 * not happen in the context of any process.
 */
TEST(taken_off_and_back)
{
	struct massif_setup setup = { .ring_bytes = 1 << 20, .flags = MASSIF_SETUP_RESIDENT };
	struct kmod_session session;
	struct touched seen = {};
	int code = -1, err;
	pid_t pid;

	if (access(ONLINE, W_OK))
		SKIP(return, "this kernel cannot take a processor off");
	err = kmod_session_open_as(&session, &setup);
	if (err == -EOPNOTSUPP)
		SKIP(return, "this kernel has no CONFIG_MMU_NOTIFIER");
	ASSERT_EQ(0, err);
	pid = kmod_session_call(&session, touch_and_take_off, NULL);
	ASSERT_LT(0, pid);
	EXPECT_EQ(0, kmod_session_drain(&session, 20 * 1000, take_touched, &seen));
	ASSERT_EQ(pid, waitpid(pid, &code, 0));
	EXPECT_EQ(0, code);
	kmod_session_close(&session);
	EXPECT_EQ(2 * BEFORE + BEHIND, seen.single);
	EXPECT_EQ(0, seen.other);
}

TEST_HARNESS_MAIN
