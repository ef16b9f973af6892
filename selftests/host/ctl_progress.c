// SPDX-License-Identifier: GPL-2.0
// The progress of lengthy work is shown only on a terminal, and not with -q.

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "ctl/launch/progress.h"
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

#define PATIENCE_MS 60000

/*
 * Reads from @fd until @expected bytes and no more data arrive, and returns everything read. The kernel passes what is
 * written to a terminal on in a thread of its own, which can be late.
 */
static const char *text_at(FIXTURE_DATA(progress) *self, int fd, size_t expected)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };
	size_t used = 0;
	ssize_t n;

	while (used < sizeof(self->text) - 1 && poll(&polled, 1, used < expected ? PATIENCE_MS : 100) == 1 &&
	       (n = read(fd, self->text + used, sizeof(self->text) - 1 - used)) > 0)
		used += (size_t)n;
	self->text[used] = '\0';
	return self->text;
}

#define EXPECT_TEXT(expected, fd) EXPECT_STREQ(expected, text_at(self, fd, strlen(expected)))

TEST_F(progress, on_a_terminal)
{
	mf_message_set_target(self->terminal);
	mf_message_progress("looking", 3, 7);
	EXPECT_TEXT("\r\033[Kmassif-ctl: looking, 3 of 7", self->user);
	mf_message_progress("looking", 7, 7);
	EXPECT_TEXT("\r\033[K", self->user);
}

TEST_F(progress, not_to_the_quiet)
{
	mf_message_set_level(MF_MESSAGE_NOTE - 1);
	mf_message_set_target(self->terminal);
	mf_message_progress("looking", 3, 7);
	mf_message_progress("looking", 7, 7);
	EXPECT_TEXT("", self->user);
}

TEST_F(progress, not_in_a_pipe)
{
	int ends[2];

	ASSERT_EQ(0, pipe(ends));
	mf_message_set_target(ends[1]);
	mf_message_progress("looking", 3, 7);
	mf_message_progress("looking", 7, 7);
	close(ends[1]);
	EXPECT_TEXT("", ends[0]);
	close(ends[0]);
}

TEST_F(progress, line_that_is_rewritten)
{
	mf_message_set_target(self->terminal);
	mf_message_status("1 s");
	EXPECT_TEXT("\r\033[Kmassif-ctl: 1 s", self->user);
	mf_message_status("2 s");
	EXPECT_TEXT("\r\033[Kmassif-ctl: 2 s", self->user);
	/* A message takes its place; after that, nothing is to be removed. */
	mf_message_say(MF_MESSAGE_NOTE, "news");
	EXPECT_TEXT("\r\033[Kmassif-ctl: news\r\n", self->user);
	mf_message_say(MF_MESSAGE_NOTE, "news");
	EXPECT_TEXT("massif-ctl: news\r\n", self->user);
	mf_message_status(NULL);
	EXPECT_TEXT("", self->user);
	mf_message_status("3 s");
	mf_message_status(NULL);
	EXPECT_TEXT("\r\033[Kmassif-ctl: 3 s\r\033[K", self->user);
}

TEST_F(progress, line_in_a_narrow_window)
{
	struct winsize size = { .ws_row = 5, .ws_col = 20 };
	const char *text;
	size_t length;

	mf_message_set_target(self->terminal);
	for (size.ws_col = 1; size.ws_col < 40; size.ws_col++) {
		ASSERT_EQ(0, ioctl(self->terminal, TIOCSWINSZ, &size));
		mf_message_status("twenty characters...");
		length = size.ws_col > 32 ? 32 : size.ws_col - 1;
		text = text_at(self, self->user, 4 + length);
		ASSERT_EQ(0, strncmp("\r\033[K", text, 4));
		EXPECT_GT(size.ws_col, strlen(text + 4));
		EXPECT_EQ(length, strlen(text + 4));
	}
	mf_message_status(NULL);
}

/* Where nobody sees it, and where this process would have to wait. */
TEST_F(progress, no_line)
{
	int ends[2];

	ASSERT_EQ(0, pipe(ends));
	mf_message_set_target(ends[1]);
	mf_message_status("1 s");
	mf_message_set_target(-1);
	mf_message_status("1 s");
	close(ends[1]);
	EXPECT_TEXT("", ends[0]);
	close(ends[0]);
	mf_message_set_target(self->terminal);
	mf_message_set_level(MF_MESSAGE_NOTE - 1);
	mf_message_status("1 s");
	mf_message_set_level(MF_MESSAGE_NOTE);
	ASSERT_EQ(0, tcflow(self->terminal, TCOOFF));
	mf_message_status("1 s");
	ASSERT_EQ(0, tcflow(self->terminal, TCOON));
	EXPECT_TEXT("", self->user);
}

/* The program's standard descriptors decide, by whatever name they were opened. */
TEST_F(progress, terminal_of_the_program)
{
	static const char *const names[] = { "/dev/null", NULL, "/dev/tty" };
	int status;

	for (int which = 0; which < 3 * 3; which++) {
		pid_t pid = fork();

		if (!pid) {
			const char *name = names[which / 3] ?: ttyname(self->terminal);
			int fd;

			setsid();
			ioctl(self->terminal, TIOCSCTTY, 0);
			for (int standard = 0; standard < 3; standard++) {
				fd = open("/dev/null", O_RDWR);
				dup2(fd, standard);
			}
			fd = open(name, O_RDWR);
			dup2(fd, which % 3);
			_exit(fd < 0 ? 77 : mf_progress_is_safe(self->terminal));
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(which / 3 == 0, WEXITSTATUS(status)) {
			TH_LOG("descriptor %d is %s", which % 3, names[which / 3] ?: "the terminal");
		}
	}
	EXPECT_FALSE(mf_progress_is_safe(-1));
}

/* Runs massif-ctl with messages on the terminal, and @program on another one, if @other, or on the same. */
static char *run(FIXTURE_DATA(progress) *self, bool other)
{
	char option[128], *all = calloc(1, 65536);
	struct pollfd polled = { .fd = self->user, .events = POLLIN };
	size_t used = 0;
	pid_t pid;
	ssize_t n;

	snprintf(option, sizeof(option), "--log-file=%s", ttyname(self->terminal));
	pid = fork();
	if (!pid) {
		int fd = open(other ? "/dev/null" : ttyname(self->terminal), O_RDWR | O_NOCTTY);

		for (int standard = 0; standard < 3; standard++)
			dup2(fd, standard);
		execl(ctl_path(), "massif-ctl", option, "--massif-out-file=/dev/null", "sleep", "4.5", NULL);
		_exit(99);
	}
	while (used < 65000 && !strstr(all, "; wrote ") && poll(&polled, 1, PATIENCE_MS) == 1 &&
	       (n = read(self->user, all + used, 65000 - used)) > 0)
		used += (size_t)n;
	waitpid(pid, NULL, 0);
	return all;
}

TEST_F_TIMEOUT(progress, of_a_run, 200)
{
	char *text = run(self, true);
	const char *line = strstr(text, "\r\033[Kmassif-ctl: sleep: ");

	ASSERT_NE(NULL, line) {
		TH_LOG("%s", text);
	}
	EXPECT_NE(NULL, strstr(line, " s, live "));
	EXPECT_NE(NULL, strstr(line, ", peak "));
	EXPECT_NE(NULL, strstr(line + 1, "\r\033[Kmassif-ctl: sleep: "));
	EXPECT_NE(NULL, strstr(line, "\r\033[Kmassif-ctl: sleep (pid "));
	free(text);
	text = run(self, false);
	EXPECT_EQ(NULL, strstr(text, "live"));
	EXPECT_EQ(NULL, strchr(text, '\033'));
	EXPECT_NE(NULL, strstr(text, "massif-ctl: sleep (pid "));
	free(text);
}

TEST_HARNESS_MAIN
