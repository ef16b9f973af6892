// SPDX-License-Identifier: GPL-2.0
// How a command that watches a profile learns that its massif-ctl ends.

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "ctl/control/client.h"
#include "ctl/control/server.h"
#include "ctl/control/watch.h"

FIXTURE(watch) {
	struct mf_watch watch;
	int server; /* the end of the massif-ctl that profiles */
};

FIXTURE_SETUP(watch)
{
	int ends[2];

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
	self->watch = (struct mf_watch){ .pid = 1, .fd = ends[0] };
	self->server = ends[1];
}

FIXTURE_TEARDOWN(watch)
{
	mf_watch_close(&self->watch);
	if (self->server >= 0)
		close(self->server);
}

static bool tell_written(int server, const char *text)
{
	struct {
		struct mf_control_answer head;
		char text[64];
	} message = { .head = {
			      .magic = MF_CONTROL_MAGIC,
			      .kind = MF_CONTROL_WRITTEN,
			      .bytes = (uint32_t)strlen(text),
		      } };
	size_t size = sizeof(message.head) + strlen(text);

	snprintf(message.text, sizeof(message.text), "%s", text);
	return send(server, &message, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static enum mf_watch_kind next(struct mf_watch *watch, char *text, size_t size)
{
	struct mf_watch_news news;
	enum mf_watch_kind kind;

	mf_watch_next(watch, &news);
	kind = news.kind;
	snprintf(text, size, "%s", news.text ?: "");
	mf_watch_free(&news);
	return kind;
}

FIXTURE_VARIANT(watch)
{
	bool asks; /* a request is on its way when the other massif-ctl ends */
};

FIXTURE_VARIANT_ADD(watch, at_rest) { .asks = false };
FIXTURE_VARIANT_ADD(watch, with_a_request_unread) { .asks = true };

/* With an unread request, the kernel reports an error before the messages. */
TEST_F(watch, hears_which_files_were_written)
{
	char text[64];

	EXPECT_EQ(MF_WATCH_NOTHING, next(&self->watch, text, sizeof(text)));
	if (variant->asks)
		mf_watch_ask(&self->watch);
	ASSERT_TRUE(tell_written(self->server, "1\t/tmp/massif.out.1"));
	ASSERT_TRUE(tell_written(self->server, "2\t/tmp/massif.out.2"));
	close(self->server);
	self->server = -1;
	EXPECT_EQ(MF_WATCH_WRITTEN, next(&self->watch, text, sizeof(text)));
	EXPECT_STREQ("/tmp/massif.out.1", text);
	EXPECT_EQ(MF_WATCH_WRITTEN, next(&self->watch, text, sizeof(text)));
	EXPECT_STREQ("/tmp/massif.out.2", text);
	EXPECT_EQ(MF_WATCH_CLOSED, next(&self->watch, text, sizeof(text)));
	EXPECT_EQ(-1, self->watch.fd);
	EXPECT_EQ(MF_WATCH_NOTHING, next(&self->watch, text, sizeof(text)));
}

/* The other massif-ctl ends after this one has seen that there is something to receive. */
TEST_F(watch, answer_that_does_not_come)
{
	enum mf_control_kind kind;
	char *text = NULL;
	int fd;

	if (variant->asks)
		mf_watch_ask(&self->watch);
	close(self->server);
	self->server = -1;
	EXPECT_EQ(-ECONNRESET, mf_ask_receive(self->watch.fd, &kind, &text, &fd));
	EXPECT_EQ(NULL, text);
	EXPECT_EQ(-1, fd);
}

TEST_HARNESS_MAIN
