// SPDX-License-Identifier: GPL-2.0
// Answers of the control socket, which a process that only claims to be massif-ctl can have sent to root: what is malformed
// is refused, and no descriptor is kept that was not asked for.

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "ctl/control/client.h"

#define DESCRIPTORS_MOST 3

FIXTURE(answers) {
	int sockets[2], lowest;
	enum mf_control_kind kind;
	char *text;
	int fd;
};

/* Returns the lowest descriptor that is free. */
static int lowest_free(void)
{
	int fd = dup(STDERR_FILENO);

	close(fd);
	return fd;
}

FIXTURE_SETUP(answers)
{
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET, 0, self->sockets));
	self->lowest = lowest_free();
}

FIXTURE_TEARDOWN(answers)
{
	close(self->sockets[0]);
	close(self->sockets[1]);
}

/* Sends @size bytes of an answer with a text of as many letters as there is room for, and descriptors. */
static void send_answer(const FIXTURE_DATA(answers) *self, struct mf_control_answer answer, size_t size, size_t n_fds)
{
	char bytes[sizeof(answer) + 100];
	struct iovec part = { .iov_base = bytes, .iov_len = size };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(DESCRIPTORS_MOST * sizeof(int))];
	} control = { .header = { CMSG_LEN(n_fds * sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	memset(bytes, 'a', sizeof(bytes));
	memcpy(bytes, &answer, sizeof(answer));
	for (size_t i = 0; i < n_fds; i++)
		memcpy(CMSG_DATA(&control.header) + i * sizeof(int), &self->sockets[0], sizeof(int));
	if (n_fds) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
	}
	if (sendmsg(self->sockets[0], &message, 0) != (ssize_t)size)
		abort();
}

static const struct mf_control_answer sound = { .magic = MF_CONTROL_MAGIC, .bytes = 4 };

TEST_F(answers, that_are_sound)
{
	send_answer(self, sound, sizeof(sound) + 4, 1);
	ASSERT_EQ(0, mf_ask_receive(self->sockets[1], &self->kind, &self->text, &self->fd));
	EXPECT_STREQ("aaaa", self->text);
	EXPECT_EQ(self->lowest, self->fd);
	EXPECT_TRUE(fcntl(self->fd, F_GETFD) & FD_CLOEXEC);
	close(self->fd);
	free(self->text);
}

/* One descriptor can be asked for; the kernel closes the others, and the sender keeps its own. */
TEST_F(answers, with_several_descriptors)
{
	for (size_t n = 2; n <= DESCRIPTORS_MOST; n++) {
		send_answer(self, sound, sizeof(sound) + 4, n);
		ASSERT_EQ(0, mf_ask_receive(self->sockets[1], &self->kind, &self->text, &self->fd));
		EXPECT_EQ(self->lowest, self->fd);
		close(self->fd);
		EXPECT_EQ(self->lowest, lowest_free());
		free(self->text);
	}
}

TEST_F(answers, that_are_malformed)
{
	static const struct {
		struct mf_control_answer answer;
		size_t size;
	} cases[] = {
		{ sound, sizeof(sound) - 1 },
		{ sound, sizeof(sound) + 3 },
		{ sound, sizeof(sound) + 5 },
		{ { .magic = MF_CONTROL_MAGIC + 1, .bytes = 4 }, sizeof(sound) + 4 },
		{ { .magic = MF_CONTROL_MAGIC, .bytes = UINT32_MAX }, sizeof(sound) + 4 },
		{ { .magic = MF_CONTROL_MAGIC, .bytes = 4, .code = 1 }, sizeof(sound) + 4 },
		{ { .magic = MF_CONTROL_MAGIC, .bytes = 4, .code = -4096 }, sizeof(sound) + 4 },
		{ { .magic = MF_CONTROL_MAGIC, .bytes = 4, .code = INT32_MIN }, sizeof(sound) + 4 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		send_answer(self, cases[i].answer, cases[i].size, 1);
		EXPECT_EQ(-EPROTO, mf_ask_receive(self->sockets[1], &self->kind, &self->text, &self->fd)) TH_LOG("case %zu", i);
		EXPECT_EQ(-1, self->fd);
		EXPECT_EQ(self->lowest, lowest_free());
	}
}

TEST_F(answers, with_the_smallest_code)
{
	struct mf_control_answer answer = sound;

	answer.code = -4095;
	send_answer(self, answer, sizeof(answer) + 4, 0);
	EXPECT_EQ(-4095, mf_ask_receive(self->sockets[1], &self->kind, &self->text, &self->fd));
	EXPECT_EQ(-1, self->fd);
	free(self->text);
}

TEST_HARNESS_MAIN
