// SPDX-License-Identifier: GPL-2.0
// The numbers of targets are not used again in a session, not even when all of them have been used.
//
// A real session has 2^32 - 1 numbers, which take hours to use up. Here the module is loaded with fewer.
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_module.h"
#include "selftests/lib/kmod_session.h"

#define RING	(256 << 10)
#define NUMBERS	3

FIXTURE(numbers)
{
	struct kmod_session session;
	pid_t members[NUMBERS];
	pid_t others[10];	/* processes for which no number is left */
	int go[2];		/* a member waits until a byte is written; then it does what the test is about */
};

/* Counts of the records that the module has written, by what they say. */
static struct reported {
	unsigned int forks, execs;
	unsigned int lost, ends;	/* LOST and END records with reason MEMORY */
	pid_t ended;
} reported;

static int note(const struct massif_record *rec, void *unused)
{
	const struct massif_rec_lost *lost = (const void *)rec;
	const struct massif_rec_end *end = (const void *)rec;

	(void)unused;
	reported.forks += rec->type == MASSIF_REC_FORK;
	reported.execs += rec->type == MASSIF_REC_EXEC;
	reported.lost += rec->type == MASSIF_REC_LOST && lost->reason == MASSIF_LOST_MEMORY;
	if (rec->type == MASSIF_REC_END && end->reason == MASSIF_END_MEMORY) {
		reported.ends++;
		reported.ended = end->tgid;
	}
	return 0;
}

static int wait_for_ever(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
	return 0;
}

static int wait_then_fork(void *go)
{
	char byte;

	if (read(*(int *)go, &byte, 1) != 1)
		return 1;
	if (!fork())
		_exit(0);
	wait(NULL);
	return wait_for_ever();
}

static int wait_then_exec(void *go)
{
	char byte;

	if (read(*(int *)go, &byte, 1) != 1)
		return 1;
	execl("/bin/true", "true", NULL);
	return 1;
}

FIXTURE_SETUP(numbers)
{
	char parameter[32];

	reported = (struct reported){ 0 };
	for (size_t i = 0; i < sizeof(self->others) / sizeof(self->others[0]); i++) {
		self->others[i] = fork();
		if (!self->others[i])
			wait_for_ever();
	}
	kmod_module_unload_soon("massif");
	snprintf(parameter, sizeof(parameter), "last_number=%d", NUMBERS);
	ASSERT_EQ(0, kmod_module_load(parameter));
	ASSERT_EQ(0, kmod_session_open(&self->session, RING, 0));
	ASSERT_EQ(0, pipe(self->go));
}

FIXTURE_TEARDOWN(numbers)
{
	for (size_t i = 0; i < sizeof(self->members) / sizeof(self->members[0]); i++)
		if (self->members[i] > 0)
			kill(self->members[i], SIGKILL);
	for (size_t i = 0; i < sizeof(self->others) / sizeof(self->others[0]); i++)
		kill(self->others[i], SIGKILL);
	kmod_session_close(&self->session);
	kmod_module_unload_soon("massif");
}

/* Uses up all numbers: the members run @run. Returns false if a member could not be started. */
static bool use_up(FIXTURE_DATA(numbers) * self, int (*run)(void *go))
{
	struct massif_status status = { 0 };

	for (int i = 0; i < NUMBERS; i++)
		self->members[i] = kmod_session_call(&self->session, run, &self->go[0]);
	/* The members enrol themselves when they run. */
	for (unsigned int tries = 0; tries < 100 * patience() && status.targets < NUMBERS; tries++) {
		usleep(100000);
		if (kmod_session_status(&self->session, &status))
			return false;
	}
	return status.targets == NUMBERS;
}

static void read_all(FIXTURE_DATA(numbers) * self)
{
	kmod_session_read(&self->session, note, NULL);
}

TEST_F(numbers, that_are_used_up_end_attaching)
{
	struct massif_status status;
	pid_t pid;
	int code;

	ASSERT_TRUE(use_up(self, wait_then_fork));
	for (size_t i = 0; i < sizeof(self->others) / sizeof(self->others[0]); i++)
		EXPECT_EQ(-EOVERFLOW, kmod_session_attach(self->session.fd, self->others[i]));
	pid = fork();
	if (!pid)
		_exit(kmod_session_enrol(self->session.fd) == -EOVERFLOW ? 0 : 1);
	ASSERT_EQ(pid, waitpid(pid, &code, 0));
	EXPECT_EQ(0, code);
	ASSERT_EQ(0, kmod_session_status(&self->session, &status));
	EXPECT_EQ(NUMBERS, status.targets);
	EXPECT_EQ(NUMBERS, status.processes);

	/* They are not used again when a target has ended. */
	kill(self->members[0], SIGKILL);
	ASSERT_EQ(self->members[0], waitpid(self->members[0], NULL, 0));
	self->members[0] = 0;
	EXPECT_EQ(-EOVERFLOW, kmod_session_attach(self->session.fd, self->others[0]));

	/* Nor does a session have fewer because an earlier one had used up its own. */
	kmod_session_close(&self->session);
	ASSERT_EQ(0, kmod_session_open(&self->session, RING, 0));
	for (int i = 0; i < NUMBERS; i++)
		EXPECT_EQ(0, kmod_session_attach(self->session.fd, self->others[i]));
	EXPECT_EQ(-EOVERFLOW, kmod_session_attach(self->session.fd, self->others[NUMBERS]));
}

TEST_F(numbers, that_are_used_up_leave_children_out)
{
	struct massif_status status;

	ASSERT_TRUE(use_up(self, wait_then_fork));
	read_all(self);
	ASSERT_EQ(1, write(self->go[1], "g", 1));
	for (unsigned int tries = 0; tries < 100 * patience() && !reported.lost; tries++) {
		usleep(100000);
		read_all(self);
	}
	EXPECT_EQ(1, reported.lost);
	EXPECT_EQ(0, reported.forks);
	ASSERT_EQ(0, kmod_session_status(&self->session, &status));
	EXPECT_EQ(NUMBERS, status.targets);
	EXPECT_EQ(NUMBERS, status.processes);
}

TEST_F(numbers, that_are_used_up_let_programs_leave)
{
	struct massif_status status;
	bool is_member = false;

	ASSERT_TRUE(use_up(self, wait_then_exec));
	read_all(self);
	ASSERT_EQ(1, write(self->go[1], "g", 1));
	for (unsigned int tries = 0; tries < 100 * patience() && !reported.ends; tries++) {
		usleep(100000);
		read_all(self);
	}
	EXPECT_EQ(1, reported.ends);
	EXPECT_EQ(0, reported.execs);
	for (int i = 0; i < NUMBERS; i++)
		is_member |= self->members[i] == reported.ended;
	EXPECT_TRUE(is_member);
	ASSERT_EQ(0, kmod_session_status(&self->session, &status));
	EXPECT_EQ(NUMBERS - 1, status.targets);
	EXPECT_EQ(NUMBERS - 1, status.processes);
}

TEST_HARNESS_MAIN
