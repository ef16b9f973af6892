// SPDX-License-Identifier: GPL-2.0
// What massif-ctl's messages contain of names that others have chosen.

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "ctl/message/message.h"

#define HOSTILE "a\033]0;title\007b\nc\r\177"

FIXTURE(lines) {
	int sockets[2];
	char text[256];
};

FIXTURE_SETUP(lines)
{
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, self->sockets));
	mf_message_set_target(self->sockets[0]);
}

FIXTURE_TEARDOWN(lines)
{
	mf_message_set_target(STDERR_FILENO);
	close(self->sockets[0]);
	close(self->sockets[1]);
}

/* Receives what was printed. Returns whether it has no control characters but newlines. */
static bool is_clean(FIXTURE_DATA(lines) *self)
{
	ssize_t n = recv(self->sockets[1], self->text, sizeof(self->text) - 1, MSG_DONTWAIT);

	if (n <= 0)
		return false;
	self->text[n] = '\0';
	for (const char *at = self->text; *at; at++)
		if (*at != '\n' && ((unsigned char)*at < ' ' || *at == 0x7f))
			return false;
	return self->text[n - 1] == '\n';
}

TEST_F(lines, of_massif_ctl)
{
	mf_message_say(MF_MESSAGE_NOTE, "%s", HOSTILE);
	EXPECT_TRUE(is_clean(self)) TH_LOG("%s", self->text);
	/* A text of several lines has the beginning in each. */
	EXPECT_EQ(&self->text[0], strstr(self->text, "massif-ctl: "));
	EXPECT_NE(NULL, strstr(self->text, "\nmassif-ctl: "));
}

/* Names of functions are in these, with -v -v -v. */
TEST_F(lines, like_massifs)
{
	mf_message_massif(12, "%s", HOSTILE);
	EXPECT_TRUE(is_clean(self)) TH_LOG("%s", self->text);
	EXPECT_EQ(&self->text[0], strstr(self->text, "--12-- Massif: "));
	EXPECT_EQ(&self->text[0] + strlen(self->text) - 1, strchr(self->text, '\n'));
}

TEST_HARNESS_MAIN
