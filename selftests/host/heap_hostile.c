// SPDX-License-Identifier: GPL-2.0
// A profiled program that knows the secret of its session and sends massif-ctl messages that the shim would not send.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "protocol/join.h"
#include "ctl/files/outputs.h"
#include "ctl/heap/family.h"
#include "ctl/message/message.h"
#include "model/heap.h"
#include "model/trie.h"
#include "selftests/lib/ctl_run.h"

#define MESSAGES "h.messages"

/* The family of massif-ctl; its launched process is the test itself. */
FIXTURE(hostile) {
	struct mf_options options;
	struct mf_heap_family *family;
	FILE *messages;
	char *said;
};

FIXTURE_SETUP(hostile)
{
	const struct rlimit limit = { 8192, 8192 };
	struct mf_heap_process *process;
	struct mf_error err;
	char here[4096];

	ctl_remove_files("h.");
	ASSERT_NE(NULL, getcwd(here, sizeof(here)));
	setenv("TMPDIR", here, 1);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit)) {
		TH_LOG("%s", strerror(errno));
	}
	ASSERT_EQ(0, mf_options_init(&self->options, 1, &err));
	self->options.trace_children = true;
	self->options.desc = strdup("(none)");
	self->messages = fopen(MESSAGES, "w+");
	ASSERT_NE(NULL, self->messages);
	mf_message_set_target(fileno(self->messages));
	ASSERT_EQ(0, mf_heap_process_create(&self->options, "/bin/true", "true", getpid(), &process, &err));
	process->pid = getpid();
	process->store.header->pid = getpid();
	mf_heap_alloc(&process->store, 0x10000, 48,
		      mf_trie_context(&process->store,
				      mf_trie_child(&process->store, MF_NODE_ROOT, (struct mf_frame){ .pc = 1 })), 0);
	ASSERT_EQ(0, mf_heap_family_create(&self->options, process, NULL, &self->family, &err));
}

FIXTURE_TEARDOWN(hostile)
{
	mf_heap_family_destroy(self->family);
	mf_message_set_target(STDERR_FILENO);
	mf_options_deinit(&self->options);
	fclose(self->messages);
	free(self->said);
	ctl_remove_files("h.");
}

/* Connects to the family at @session (a name and a secret). Returns the descriptor, or -1. */
static int reach(const char *session)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = strcspn(session, ":");
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(address.sun_path + 1, session, length);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Sends one request. Returns whether it was sent. */
static bool request(int fd, const char *session, uint32_t verb, const char *path, const char *args)
{
	struct mf_join_request head = {
		.magic = MF_JOIN_MAGIC,
		.verb = verb,
		.path_bytes = (uint32_t)strlen(path),
		.args_bytes = (uint32_t)strlen(args),
	};
	char packet[sizeof(head) + 512];
	size_t size = sizeof(head);

	memcpy(head.secret, strchr(session, ':') + 1, MF_JOIN_SECRET_DIGITS);
	memcpy(packet, &head, size);
	memcpy(packet + size, path, head.path_bytes);
	size += head.path_bytes;
	memcpy(packet + size, args, head.args_bytes);
	size += head.args_bytes;
	return send(fd, packet, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size;
}

/* Receives an answer. Returns its code and the first descriptor in *@file, -1 if there is none; 1 without an answer. */
static int receive(int fd, int *file)
{
	struct {
		struct mf_join_answer answer;
		char text[256];
	} packet;
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(MF_JOIN_FDS * sizeof(int))];
	} control;
	struct iovec part = { .iov_base = &packet, .iov_len = sizeof(packet) };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control),
	};

	*file = -1;
	if (recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < (ssize_t)sizeof(packet.answer))
		return 1;
	if (packet.answer.fds & 1u << MF_JOIN_FD_MEMORY)
		memcpy(file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(*file));
	return packet.answer.code;
}

/* Counts the messages with @words that massif-ctl has printed. */
static int count_messages(FIXTURE_DATA(hostile) *self, const char *words)
{
	int n = 0;

	free(self->said);
	self->said = ctl_read_file(MESSAGES);
	for (const char *at = self->said; (at = strstr(at, words)); at++)
		n++;
	return n;
}

/*
 * The program cannot change the file of a monitor command, which massif-ctl saves if the program reports that it cannot
 * write it. A second report, and one without a file, are ignored.
 */
TEST_F(hostile, files_of_monitor_commands)
{
	const char *session = mf_heap_family_address(self->family);
	int fd = reach(session), file;
	char *saved;

	ASSERT_LE(0, fd);
	ASSERT_TRUE(request(fd, session, MF_JOIN_COMMAND, "all_snapshots h.file", ""));
	for (int i = 0; i < 3; i++)
		mf_heap_family_look(self->family);
	ASSERT_EQ(0, receive(fd, &file));
	ASSERT_LE(0, file);
	EXPECT_EQ(-1, ftruncate(file, 1ll << 50));
	EXPECT_EQ(-1, ftruncate(file, 0));
	EXPECT_EQ(-1, pwrite(file, "x", 1, 0));
	for (int i = 0; i < 3; i++)
		request(fd, session, MF_JOIN_WRITTEN, "h.file", "28");
	for (int i = 0; i < 5; i++)
		mf_heap_family_look(self->family);
	EXPECT_EQ(1, count_messages(self, "; saved as "));
	saved = ctl_saved_file(self->said);
	ASSERT_NE(NULL, saved);
	EXPECT_EQ(0, unlink(saved));
	free(saved);
	close(file);
	close(fd);
	fd = reach(session);
	ASSERT_TRUE(request(fd, session, MF_JOIN_WRITTEN, "h.file", "28"));
	for (int i = 0; i < 3; i++)
		mf_heap_family_look(self->family);
	EXPECT_EQ(1, count_messages(self, "cannot write"));
	close(fd);
}

/* Announces programs, two per second, until the test ends. Returns when the first request has been sent. */
static pid_t start_announcing(const char *session)
{
	bool first = true;
	int ends[2];
	char byte;
	pid_t pid;

	if (pipe(ends))
		return -1;
	pid = fork();
	if (pid) {
		close(ends[1]);
		if (read(ends[0], &byte, 1) != 1)
			pid = -1;
		close(ends[0]);
		return pid;
	}
	for (;; first = false) {
		int fd = reach(session);

		if (fd < 0 || !request(fd, session, MF_JOIN_STARTS, "/bin/true", ""))
			_exit(1);
		close(fd);
		if (first && write(ends[1], "x", 1) != 1)
			_exit(2);
		usleep(500000);
	}
}

/* A program that announces others that never join cannot keep massif-ctl from ending. */
TEST_F_TIMEOUT(hostile, programs_that_never_join, 60)
{
	time_t start = time(NULL);
	pid_t pid = start_announcing(mf_heap_family_address(self->family));

	ASSERT_LT(0, pid);
	for (int i = 0; i < 10; i++) {
		usleep(10000);
		mf_heap_family_look(self->family);
	}
	/* Only the test itself is profiled. */
	EXPECT_EQ(1, mf_heap_family_survivors(self->family, NULL, NULL));
	EXPECT_LE(start + 5, time(NULL));
	EXPECT_GE(start + 20, time(NULL));
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Receives all answers to the @n connections in @fds. Returns their number. */
static int count_answers(const int *fds, int n)
{
	int answers = 0, file;

	for (int i = 0; i < n; i++)
		while (receive(fds[i], &file) == 0)
			answers++;
	return answers;
}

/* The number of requests that are handled in one go is limited; other work comes between them and the rest. */
TEST_F_TIMEOUT(hostile, requests_without_end, 60)
{
	enum { EVENTS = 16, ROUNDS = 128, AT_ONCE = EVENTS * ROUNDS, EACH = 10, CONNECTIONS = 10 * AT_ONCE / EACH };
	static const int numbers[] = { AT_ONCE / EACH - EVENTS, AT_ONCE / EACH + EVENTS, CONNECTIONS };
	const char *session = mf_heap_family_address(self->family);
	static int fds[CONNECTIONS];
	int made = 0;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		int n = numbers[i], answers = 0, first, file;

		for (; made < n; made++) {
			fds[made] = reach(session);
			ASSERT_LE(0, fds[made]);
			mf_heap_family_look(self->family);
		}
		for (int j = 0; j < n * EACH; j++)
			ASSERT_TRUE(request(fds[j % n], session, MF_JOIN_COMMAND, "", ""));
		mf_heap_family_look(self->family);
		first = count_answers(fds, n);
		EXPECT_EQ(n * EACH < AT_ONCE ? n * EACH : AT_ONCE, first);
		for (int j = 0; j < 20; j++) {
			mf_heap_family_look(self->family);
			answers += count_answers(fds, n);
		}
		EXPECT_EQ(n * EACH, first + answers);
		EXPECT_NE(0, receive(fds[0], &file));
	}
	for (int i = 0; i < made; i++)
		close(fds[i]);
}

/*
 * Sends one request that causes a message, and lets massif-ctl handle it. If the answer has a file, sends the report that
 * it was written, or the error @written.
 */
static void cause_message(struct mf_heap_family *family, uint32_t verb, const char *path, const char *args,
			  const char *written)
{
	const char *session = mf_heap_family_address(family);
	int fd = reach(session), file;

	request(fd, session, verb, path, args);
	for (int i = 0; i < 2; i++)
		mf_heap_family_look(family);
	if (receive(fd, &file) == 0 && written) {
		request(fd, session, MF_JOIN_WRITTEN, "h.file", written);
		mf_heap_family_look(family);
	}
	if (file >= 0)
		close(file);
	close(fd);
}

/* The number of messages of each kind that a program can cause is limited. */
TEST_F_TIMEOUT(hostile, messages_without_end, 60)
{
	enum { ROOM = 100 };
	static const int numbers[] = { ROOM, ROOM + 1, 10 * ROOM };
	char own[16], out_of_memory[16];
	const struct {
		uint32_t verb;
		const char *path, *args;
		const char *written, *words, *more;
	} kinds[] = {
		{ MF_JOIN_LEAVES, "h.program", out_of_memory, NULL, "executes h.program, which is not profiled",
		  "further messages about programs" },
		{ MF_JOIN_BORROW, own, "", NULL, "is not profiled: process", "further messages about processes" },
		{ MF_JOIN_COMMAND, "xtmemory %q{HOME}", "", NULL, "%q is not expanded",
		  "further messages about the program's monitor commands" },
		{ MF_JOIN_COMMAND, "xtmemory h.file", "", "", "report: h.file", "further messages about xtree" },
	};

	snprintf(own, sizeof(own), "%d", (int)getpid());
	snprintf(out_of_memory, sizeof(out_of_memory), "%d", ENOMEM);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		int made = 0;

		for (size_t j = 0; j < sizeof(numbers) / sizeof(numbers[0]); j++) {
			for (; made < numbers[j]; made++)
				cause_message(self->family, kinds[i].verb, kinds[i].path, kinds[i].args, kinds[i].written);
			EXPECT_EQ(ROOM, count_messages(self, kinds[i].words));
			EXPECT_EQ(j > 0, count_messages(self, kinds[i].more));
		}
	}
}

/* The number of files that massif-ctl saves because the program says that it cannot write them is limited. */
TEST_F_TIMEOUT(hostile, files_without_end, 60)
{
	enum { ROOM = 100 };
	static const int numbers[] = { ROOM, ROOM + 1, 10 * ROOM };
	int made = 0;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		for (; made < numbers[i]; made++)
			cause_message(self->family, MF_JOIN_COMMAND, "snapshot h.file", "", "28");
		EXPECT_EQ(ROOM, ctl_find_files("h.file.", NULL));
		EXPECT_EQ(ROOM, count_messages(self, "; saved as "));
		EXPECT_EQ(i > 0, count_messages(self, "further messages about the program's monitor commands"));
		EXPECT_EQ(i > 0, mf_outputs_are_lost(self->options.outputs));
	}
}

TEST_HARNESS_MAIN
