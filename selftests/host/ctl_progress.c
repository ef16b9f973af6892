// SPDX-License-Identifier: GPL-2.0
// The progress of lengthy work is shown only on a terminal, and not with -q.

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "ctl/message/message.h"

FIXTURE(progress) {
	int user, terminal;
	char text[4096];
};

FIXTURE_SETUP(progress)
{
	ASSERT_EQ(0, openpty(&self->user, &self->terminal, NULL, NULL, NULL));
	mf_message_set_level(MF_MESSAGE_NOTE);
}

FIXTURE_TEARDOWN(progress)
{
	close(self->user);
	close(self->terminal);
}

/* Reads from @fd until no more data arrive, and returns everything read. */
static const char *text_at(FIXTURE_DATA(progress) *self, int fd)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };
	size_t used = 0;
	ssize_t n;

	while (used < sizeof(self->text) - 1 && poll(&polled, 1, 100) == 1 &&
	       (n = read(fd, self->text + used, sizeof(self->text) - 1 - used)) > 0)
		used += (size_t)n;
	self->text[used] = '\0';
	return self->text;
}

TEST_F(progress, on_a_terminal)
{
	mf_message_set_target(self->terminal);
	mf_message_progress("looking", 3, 7);
	EXPECT_STREQ("\r\033[Kmassif-ctl: looking, 3 of 7", text_at(self, self->user));
	mf_message_progress("looking", 7, 7);
	EXPECT_STREQ("\r\033[K", text_at(self, self->user));
}

TEST_F(progress, not_to_the_quiet)
{
	mf_message_set_level(MF_MESSAGE_NOTE - 1);
	mf_message_set_target(self->terminal);
	mf_message_progress("looking", 3, 7);
	mf_message_progress("looking", 7, 7);
	EXPECT_STREQ("", text_at(self, self->user));
}

TEST_F(progress, not_in_a_pipe)
{
	int ends[2];

	ASSERT_EQ(0, pipe(ends));
	mf_message_set_target(ends[1]);
	mf_message_progress("looking", 3, 7);
	mf_message_progress("looking", 7, 7);
	close(ends[1]);
	EXPECT_STREQ("", text_at(self, ends[0]));
	close(ends[0]);
}

TEST_HARNESS_MAIN
