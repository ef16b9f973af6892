// SPDX-License-Identifier: GPL-2.0
// Tests a consumer that does not read the ring: the program continues, lost records are counted and reported, and a
// resync corrects the model.
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_model.h"
#include "selftests/lib/kmod_session.h"

#define RING	MASSIF_RING_MIN
#define PAGE	4096UL

/* A child process that executes one-letter commands and answers each with a letter, until end of file. */
struct worker {
	int ask[2];
	int answer[2];
	pid_t pid;
};

/*
 * Maps a range and unmaps every other page, with one system call per page. This leaves @count mappings that cannot be
 * merged.
 */
static void many_mappings(int count)
{
	char *at = mmap(NULL, 2 * count * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	for (i = 0; i < count; i++)
		munmap(at + 2 * i * PAGE, PAGE);
}

static void churn(int count)
{
	while (count--)
		munmap(mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGE);
}

static int work(void *arg)
{
	struct worker *worker = arg;
	char letter;

	close(worker->ask[1]);
	close(worker->answer[0]);
	while (read(worker->ask[0], &letter, 1) == 1) {
		switch (letter) {
		case 'c':
			churn(500);
			break;
		case 'm':
			many_mappings(3000);
			break;
		case '1':
			churn(1);
			break;
		}
		if (write(worker->answer[1], &letter, 1) != 1)
			return 1;
	}
	return 0;
}

FIXTURE(loss)
{
	struct kmod_session session;
	struct kmod_model model;
	struct worker worker;
	struct massif_status status;
};

FIXTURE_SETUP(loss)
{
	struct worker *worker = &self->worker;

	kmod_model_init(&self->model);
	ASSERT_EQ(0, kmod_session_be_user());
	ASSERT_EQ(0, kmod_session_open(&self->session, RING, 4096));
	ASSERT_EQ(0, pipe(worker->ask));
	ASSERT_EQ(0, pipe(worker->answer));
	worker->pid = kmod_session_call(&self->session, work, worker);
	ASSERT_LT(0, worker->pid);
	close(worker->ask[0]);
	close(worker->answer[1]);
}

FIXTURE_TEARDOWN(loss)
{
	kill(self->worker.pid, SIGKILL);
	waitpid(self->worker.pid, NULL, 0);
	kmod_model_destroy(&self->model);
	kmod_session_close(&self->session);
}

/* Returns the number of milliseconds that the worker took to answer, or -1 if it did not answer. */
static long ask(struct worker *worker, char letter)
{
	struct timespec from, to;
	char answer;

	clock_gettime(CLOCK_MONOTONIC, &from);
	if (write(worker->ask[1], &letter, 1) != 1 || read(worker->answer[0], &answer, 1) != 1)
		return -1;
	clock_gettime(CLOCK_MONOTONIC, &to);
	return (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
}

/* Returns whether the replayed model equals the kernel's state. */
static bool equal_now(struct kmod_model *model, pid_t pid)
{
	struct kmod_target *target = kmod_model_find(model, pid, 0);
	struct kmod_intervals now;
	char path[64];
	bool same;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	if (!target || !target->synced || kmod_intervals_read(&now, path))
		return false;
	same = kmod_intervals_equal(&now, &target->map);
	kmod_intervals_destroy(&now);
	return same;
}

TEST_F_TIMEOUT(loss, is_counted_said_and_never_waited_for, 120)
{
	uint64_t lost;

	EXPECT_LE(0, ask(&self->worker, '1'));
	kmod_session_read(&self->session, kmod_model_apply, &self->model);
	EXPECT_TRUE(equal_now(&self->model, self->worker.pid));

	/* Makes two series of mappings without reading the ring in between, so records are lost. */
	EXPECT_LE(0, ask(&self->worker, 'c'));
	EXPECT_LE(0, ask(&self->worker, 'c'));
	ASSERT_EQ(0, kmod_session_status(&self->session, &self->status));
	EXPECT_LT(500, self->status.lost);
	EXPECT_EQ(1, self->status.out_of_sync);
	EXPECT_EQ(self->status.lost, self->session.control->lost);
	lost = self->status.lost;

	/*
	 * The records that fitted into the ring are correct. Where records were lost, the gap is reported along with
	 * the number of lost records.
	 */
	kmod_session_read(&self->session, kmod_model_apply, &self->model);
	EXPECT_EQ(0, self->model.wrong) {
		TH_LOG("%s", self->model.first_wrong);
	}
	ASSERT_EQ(0, kmod_session_status(&self->session, &self->status));
	while (self->model.lost < lost) {
		uint32_t remaining;
		uint64_t before = self->model.lost;

		ASSERT_EQ(0, kmod_session_resync(&self->session, &remaining));
		kmod_session_read(&self->session, kmod_model_apply, &self->model);
		ASSERT_LT(before, self->model.lost);
	}
	EXPECT_EQ(lost, self->model.lost);
	EXPECT_EQ(lost, self->model.gaps);
}

/* When the ring fills up, the module first drops stack copies, to keep room for accounting records. */
TEST_F_TIMEOUT(loss, stacks_are_limited_before_anything_is_lost, 120)
{
	unsigned int whole = 0, limited = 0;
	const struct massif_record *rec;

	EXPECT_LE(0, ask(&self->worker, 'c'));
	while ((rec = kmod_session_next(&self->session))) {
		const struct massif_rec_stack *stack = (const void *)rec;

		kmod_model_apply(rec, &self->model);
		/*
		 * Ignore stacks after the first loss: in a nearly full ring, short records may still fit while longer
		 * ones do not.
		 */
		if (rec->type != MASSIF_REC_STACK || self->model.gaps)
			continue;
		whole += stack->bytes != 0;
		if (stack->stack_flags & MASSIF_STACK_LIMITED) {
			limited++;
			EXPECT_EQ(0, stack->bytes);
			EXPECT_EQ(MASSIF_X86_64_REGS, stack->nr_regs);
		}
	}
	kmod_session_release(&self->session);
	ASSERT_EQ(0, kmod_session_status(&self->session, &self->status));
	/*
	 * Stack copies may fill up to three quarters of the 64 KiB ring, which is enough room for a few stack copies.
	 * The rest of the ring holds about a hundred records.
	 */
	EXPECT_LT(3, whole);
	EXPECT_LT(10, limited);
	EXPECT_LE(limited, self->status.captures_limited);
	EXPECT_EQ(0, self->model.wrong) {
		TH_LOG("%s", self->model.first_wrong);
	}
}

TEST_F_TIMEOUT(loss, the_consumer_can_resync, 120)
{
	uint32_t remaining = 1;

	EXPECT_LE(0, ask(&self->worker, 'c'));
	kmod_session_read(&self->session, kmod_model_apply, &self->model);
	EXPECT_FALSE(equal_now(&self->model, self->worker.pid));

	ASSERT_EQ(0, kmod_session_resync(&self->session, &remaining));
	EXPECT_EQ(0, remaining);
	kmod_session_read(&self->session, kmod_model_apply, &self->model);
	EXPECT_TRUE(equal_now(&self->model, self->worker.pid));
	ASSERT_EQ(0, kmod_session_status(&self->session, &self->status));
	EXPECT_EQ(0, self->status.out_of_sync);

	/* After the resync, all totals are correct again. */
	EXPECT_LE(0, ask(&self->worker, '1'));
	kmod_session_read(&self->session, kmod_model_apply, &self->model);
	EXPECT_TRUE(equal_now(&self->model, self->worker.pid));
	EXPECT_EQ(0, self->model.wrong) {
		TH_LOG("%s", self->model.first_wrong);
	}
}

/* A target that is in sync is listed as well, if the consumer asks for that. If the ring is full, it has to ask again. */
TEST_F_TIMEOUT(loss, lists_that_do_not_fit_are_not_forgotten, 120)
{
	struct massif_resync all = { .size = sizeof(all), .flags = MASSIF_RESYNC_ALL };
	unsigned int calls = 0;

	/* Once it answers, it is a target. */
	EXPECT_LE(0, ask(&self->worker, '1'));
	kmod_session_read(&self->session, kmod_model_apply, &self->model);
	do {
		ASSERT_EQ(0, ioctl(self->session.fd, MASSIF_IOC_RESYNC, &all));
	} while (!all.remaining && ++calls < RING / sizeof(struct massif_rec_resync));
	EXPECT_LT(0, calls);
	EXPECT_EQ(1, all.remaining);
	for (int i = 0; i < 2; i++) {
		kmod_session_read(&self->session, kmod_model_apply, &self->model);
		EXPECT_TRUE(equal_now(&self->model, self->worker.pid));
		ASSERT_EQ(0, ioctl(self->session.fd, MASSIF_IOC_RESYNC, &all));
		EXPECT_EQ(0, all.remaining);
	}
}

TEST_F_TIMEOUT(loss, the_program_resyncs_by_itself, 120)
{
	EXPECT_LE(0, ask(&self->worker, 'c'));
	kmod_session_read(&self->session, kmod_model_apply, &self->model);
	EXPECT_FALSE(equal_now(&self->model, self->worker.pid));

	/* Now the ring has room for the target's next record, so the module lists the target's mappings again. */
	EXPECT_LE(0, ask(&self->worker, '1'));
	kmod_session_read(&self->session, kmod_model_apply, &self->model);
	EXPECT_TRUE(equal_now(&self->model, self->worker.pid));
	EXPECT_EQ(0, self->model.wrong) {
		TH_LOG("%s", self->model.first_wrong);
	}
}

TEST_F_TIMEOUT(loss, more_mappings_than_the_ring_can_hold, 120)
{
	uint32_t remaining = 1;
	int rounds;

	EXPECT_LE(0, ask(&self->worker, 'm'));
	for (rounds = 0; remaining && rounds < 100; rounds++) {
		kmod_session_read(&self->session, kmod_model_apply, &self->model);
		ASSERT_EQ(0, kmod_session_resync(&self->session, &remaining));
	}
	kmod_session_read(&self->session, kmod_model_apply, &self->model);
	/* A resync needs 3000 records of about 100 bytes each, but the ring holds only 64 KiB. */
	EXPECT_LT(4, rounds);
	EXPECT_EQ(0, remaining);
	EXPECT_TRUE(equal_now(&self->model, self->worker.pid));
	EXPECT_EQ(0, self->model.wrong) {
		TH_LOG("%s", self->model.first_wrong);
	}
}

TEST_F_TIMEOUT(loss, the_end_is_said_even_with_a_full_ring, 120)
{
	EXPECT_LE(0, ask(&self->worker, 'c'));
	EXPECT_LE(0, ask(&self->worker, 'c'));
	close(self->worker.ask[1]);
	ASSERT_EQ(self->worker.pid, waitpid(self->worker.pid, NULL, 0));
	EXPECT_EQ(0, kmod_session_drain(&self->session, 20000, kmod_model_apply, &self->model));
	EXPECT_EQ(1, self->model.records[MASSIF_REC_EXIT]);
	EXPECT_EQ(1, self->model.records[MASSIF_REC_END]);
	ASSERT_EQ(0, kmod_session_status(&self->session, &self->status));
	EXPECT_EQ(self->status.lost, self->model.lost);
	/*
	 * A LOST record must not replace the EXIT record, because the EXIT record contains the final size of the
	 * target.
	 */
	EXPECT_TRUE(kmod_model_find(&self->model, self->worker.pid, 0)->exited);
}

/* A stopped consumer does not slow the program down. */
TEST_F_TIMEOUT(loss, a_stopped_consumer_costs_no_time, 120)
{
	long empty, full;

	/* Have the child make mappings, so that their records fill the ring, which nobody is reading. */
	EXPECT_LE(0, ask(&self->worker, 'c'));
	full = ask(&self->worker, 'c');
	kmod_session_close(&self->session);
	empty = ask(&self->worker, 'c');
	TH_LOG("500 mappings: %ld ms with a full ring, %ld ms without a session", full, empty);
	EXPECT_LE(0, full);
	EXPECT_LE(0, empty);
	/* If the module waited for the consumer, the program would take several seconds to answer. */
	EXPECT_GT(10 * empty + 1000, full);
	ASSERT_EQ(0, kmod_session_open(&self->session, RING, 0));
}

TEST_HARNESS_MAIN
