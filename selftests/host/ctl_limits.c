// SPDX-License-Identifier: GPL-2.0
// Tests massif-ctl's own limits with values at each limit, one above it, and ten times as large.

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "base/cachedir.h"
#include "protocol/join.h"
#include "ctl/control/server.h"
#include "ctl/heap/join_conns.h"
#include "ctl/message/message.h"
#include "ctl/launch/shim_unsupported.h"
#include "ctl/message/quantity.h"
#include "model/store.h"
#include "selftests/lib/ctl_run.h"

#define NOBODY 65534

FIXTURE(limits) {
	struct ctl_result result;
};

FIXTURE_SETUP(limits)
{
	ctl_remove_files("l.");
}

FIXTURE_TEARDOWN(limits)
{
	ctl_result_free(&self->result);
	ctl_remove_files("l.");
}

/* If the duration given to massif-ctl attach is valid, attach fails only later, because the process does not exist. */
TEST_F(limits, seconds_of_attaching)
{
	static const struct {
		const char *seconds;
		bool allowed;
	} cases[] = {
		{ "1000000000", true }, { "1000000001", false }, { "1000000000.5", false }, { "10000000000", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ctl_result_free(&self->result);
		CTL_RUN(&self->result, "massif-ctl", "attach", "4194304", "--duration", cases[i].seconds);
		EXPECT_EQ(1, ctl_exit_code(&self->result));
		EXPECT_EQ(cases[i].allowed, !strstr(self->result.err, "--duration")) {
			TH_LOG("%s: %s", cases[i].seconds, self->result.err);
		}
		if (!cases[i].allowed)
			EXPECT_NE(NULL, strstr(self->result.err, "above 0 and at most 1000000000"));
	}
}

/* Even the largest numbers are printed with a suitable unit. */
TEST_F(limits, largest_quantities)
{
	EXPECT_STREQ("999 B", mf_quantity_bytes(999).text);
	EXPECT_STREQ("16.00 EB", mf_quantity_bytes(UINT64_MAX).text);
	EXPECT_STREQ("8.000 Ei instructions", mf_quantity_time(INT64_MAX, MF_TIME_INSTRUCTIONS).text);
	EXPECT_STREQ("8.000 EB allocated and freed", mf_quantity_time(INT64_MAX, MF_TIME_BYTES).text);
	EXPECT_STREQ("2562047788015.2 h", mf_quantity_time(INT64_MAX, MF_TIME_MS).text);
	EXPECT_STREQ("0 ms", mf_quantity_time(INT64_MIN, MF_TIME_MS).text);
}

/*
 * Makes massif-ctl report @n programs that heap mode cannot profile. Returns the messages, and sets *@lines to the
 * number of programs named in them.
 */
static char *say_obstacles(unsigned int n, unsigned int *lines)
{
	struct mf_unsupporteds obstacles = { 0 };
	FILE *file = fopen("l.messages", "w+");
	char *text;

	mf_message_set_target(fileno(file));
	for (unsigned int i = 0; i < n; i++) {
		char path[32];
		const struct mf_program program = { .path = path, .kind = MF_PROGRAM_STATIC };

		snprintf(path, sizeof(path), "l.program.%u", i);
		ctl_write_file(path, "", 0755);
		mf_unsupporteds_say(&obstacles, &program);
		mf_unsupporteds_say(&obstacles, &program);
	}
	mf_message_set_target(2);
	mf_unsupporteds_deinit(&obstacles);
	fclose(file);
	text = ctl_read_file("l.messages");
	*lines = 0;
	for (const char *at = text; (at = strstr(at, "/l.program.")); at++)
		++*lines;
	return text;
}

TEST_F(limits, programs_that_are_not_seen)
{
	static const unsigned int numbers[] = { 99, 100, 101, 1000 };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		unsigned int lines;
		char *text = say_obstacles(numbers[i], &lines);
		const char *more = strstr(text, "massif-ctl: further programs ");

		EXPECT_EQ(numbers[i] < 100 ? numbers[i] : 100, lines);
		/*
		 * At most 100 programs are named; if there are more, one message says that there are further programs.
		 */
		EXPECT_EQ(numbers[i] > 100, more != NULL);
		EXPECT_TRUE(!more || !strstr(more + 1, "massif-ctl: "));
		free(text);
	}
}

static void list_nothing(void *data, FILE *out)
{
}

static int watch_nothing(void *data, pid_t pid, struct mf_control_watched *watched, struct mf_error *err)
{
	return mf_error_set(err, -EAGAIN, "nothing yet");
}

static const struct mf_control_ops ops = { .list = list_nothing, .watch = watch_nothing };

/* Finds the control socket that this process has opened. */
static bool find_control(struct sockaddr_un *address, socklen_t *size)
{
	char *text = ctl_read_file("/proc/net/unix"), prefix[64], name[108] = "";
	char *at = text;

	snprintf(prefix, sizeof(prefix), "@" MF_CONTROL_PREFIX "%d/", (int)getpid());
	at = text ? strstr(text, prefix) : NULL;
	if (at)
		sscanf(at + 1, "%100s", name);
	free(text);
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(address->sun_path + 1, name, strlen(name));
	*size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
	return at != NULL;
}

static int reach(const struct sockaddr_un *address, socklen_t size)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	return fd < 0 || connect(fd, (const struct sockaddr *)address, size) ? -1 : fd;
}

/* Returns whether the peer has closed the connection. */
static bool is_gone(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

/* A request is answered even if there are many silent connections; the oldest of those are closed. */
TEST_F(limits, silent_connections)
{
	enum { ROOM = 8 };
	static const int numbers[] = { ROOM, ROOM + 1, 10 * ROOM };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const struct mf_control_request question = { .magic = MF_CONTROL_MAGIC, .verb = MF_CONTROL_LIST };
		struct mf_control_answer answer;
		struct mf_control *control;
		struct sockaddr_un address;
		int n = numbers[i], silent[10 * ROOM], asks;
		socklen_t size;

		ASSERT_EQ(0, mf_control_open(&ops, NULL, &control, NULL));
		ASSERT_TRUE(find_control(&address, &size));
		for (int j = 0; j < n; j++) {
			silent[j] = reach(&address, size);
			ASSERT_LE(0, silent[j]);
			mf_control_serve(control);
		}
		for (int j = 0; j < n; j++)
			EXPECT_EQ(j < n - ROOM, is_gone(silent[j]));
		asks = reach(&address, size);
		ASSERT_LE(0, asks);
		mf_control_serve(control);
		ASSERT_EQ((ssize_t)sizeof(question), send(asks, &question, sizeof(question), 0));
		mf_control_serve(control);
		ASSERT_LE((ssize_t)sizeof(answer), recv(asks, &answer, sizeof(answer), MSG_DONTWAIT));
		EXPECT_EQ(0, answer.code);
		close(asks);
		for (int j = 0; j < n; j++)
			close(silent[j]);
		mf_control_close(control);
	}
}

/* Lets this process open no further descriptors, or as many as before. */
static void limit_descriptors(bool full)
{
	static struct rlimit before;
	struct rlimit limit;
	int next = dup(0);

	close(next);
	if (!before.rlim_cur)
		getrlimit(RLIMIT_NOFILE, &before);
	limit = before;
	if (full)
		limit.rlim_cur = (rlim_t)next;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* A connection for which there is no descriptor is refused, instead of keeping the main loop awake. */
TEST_F(limits, no_descriptor_for_a_connection)
{
	struct mf_control *control;
	struct sockaddr_un address;
	int asks, others[2];
	socklen_t size;

	ASSERT_EQ(0, mf_control_open(&ops, NULL, &control, NULL));
	ASSERT_TRUE(find_control(&address, &size));
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 2; i++) {
			others[i] = reach(&address, size);
			ASSERT_LE(0, others[i]);
		}
		limit_descriptors(true);
		for (int i = 0; i < 2; i++)
			mf_control_serve(control);
		EXPECT_EQ(0, poll(&(struct pollfd){ .fd = mf_control_fd(control), .events = POLLIN }, 1, 0));
		for (int i = 0; i < 2; i++) {
			EXPECT_TRUE(is_gone(others[i]));
			close(others[i]);
		}
		limit_descriptors(false);
	}
	/* Later connections are admitted. */
	asks = reach(&address, size);
	mf_control_serve(control);
	EXPECT_FALSE(is_gone(asks));
	close(asks);
	mf_control_close(control);
}

/* Connections that watch stay open, and do not take the place of others; more of them are refused. */
TEST_F(limits, connections_that_watch)
{
	enum { ROOM = 8 };
	static const int numbers[] = { ROOM, ROOM + 1, 10 * ROOM };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct mf_control_request request = { .magic = MF_CONTROL_MAGIC, .verb = MF_CONTROL_WATCH };
		int n = numbers[i], watching[10 * ROOM], asks;
		struct mf_control_answer answer;
		struct mf_control *control;
		struct sockaddr_un address;
		socklen_t size;

		ASSERT_EQ(0, mf_control_open(&ops, NULL, &control, NULL));
		ASSERT_TRUE(find_control(&address, &size));
		/* Each asks twice. */
		for (int j = 0; j < 2 * n; j++) {
			if (j < n)
				watching[j] = reach(&address, size);
			ASSERT_LE(0, watching[j % n]);
			mf_control_serve(control);
			if (j >= n && j % n >= ROOM)
				continue;
			ASSERT_EQ((ssize_t)sizeof(request), send(watching[j % n], &request, sizeof(request), 0));
			mf_control_serve(control);
			ASSERT_LE((ssize_t)sizeof(answer), recv(watching[j % n], &answer, sizeof(answer), MSG_DONTWAIT));
			EXPECT_EQ(j % n < ROOM ? -EAGAIN : -EBUSY, answer.code);
		}
		for (int j = 0; j < n; j++)
			EXPECT_EQ(j >= ROOM, is_gone(watching[j]));
		/* When one ends, there is room for another; other requests are answered anyway. */
		close(watching[0]);
		mf_control_serve(control);
		for (int j = 0; j < 2; j++) {
			request.verb = j ? MF_CONTROL_LIST : MF_CONTROL_WATCH;
			asks = reach(&address, size);
			ASSERT_LE(0, asks);
			mf_control_serve(control);
			ASSERT_EQ((ssize_t)sizeof(request), send(asks, &request, sizeof(request), 0));
			mf_control_serve(control);
			ASSERT_LE((ssize_t)sizeof(answer), recv(asks, &answer, sizeof(answer), MSG_DONTWAIT));
			EXPECT_EQ(j ? 0 : -EAGAIN, answer.code);
			close(asks);
		}
		for (int j = 1; j < n; j++)
			close(watching[j]);
		mf_control_close(control);
	}
}

static int serve_nothing(void *data, struct mf_join_conn *guest, const struct mf_request *join_request)
{
	return 0;
}

/*
 * Starts a process that runs as another user and makes @n connections. After each one it writes a byte to @report and
 * waits for a byte from @order. At the end, it reports how many of the connections are still open.
 */
static pid_t start_stranger(const struct sockaddr_un *address, socklen_t size, int n, int order, int report)
{
	pid_t pid = fork();
	int fds[256], stand = 0;
	char byte = 0;

	if (pid)
		return pid;
	if (setgid(NOBODY) || setuid(NOBODY))
		_exit(1);
	for (int i = 0; i < n; i++) {
		fds[i] = reach(address, size);
		if (fds[i] < 0 || write(report, &byte, 1) != 1 || read(order, &byte, 1) != 1)
			_exit(2);
	}
	for (int i = 0; i < n; i++) {
		stand += !is_gone(fds[i]);
		/* The connections that are still open must be the newest ones. */
		if (is_gone(fds[i]) && stand)
			_exit(3);
	}
	byte = (char)stand;
	_exit(write(report, &byte, 1) != 1);
}

TEST_F(limits, strangers_that_say_nothing)
{
	enum { ROOM = 16 };
	static const int numbers[] = { ROOM, ROOM + 1, 10 * ROOM };

	if (geteuid())
		SKIP(return, "only root can be another user");
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct sockaddr_un address = { .sun_family = AF_UNIX };
		int order[2], report[2], own, status;
		struct mf_join_conns conns;
		socklen_t size;
		char byte;
		pid_t pid;

		mf_join_conns_init(&conns, serve_nothing, NULL);
		ASSERT_EQ(0, mf_join_conns_open(&conns, NULL));
		size = sizeof(address);
		ASSERT_EQ(0, getsockname(conns.join_server.listener, (struct sockaddr *)&address, &size));
		/* A connection from the user who runs massif-ctl is never closed, even if it is the oldest. */
		own = reach(&address, size);
		ASSERT_LE(0, own);
		ASSERT_TRUE(mf_join_conns_look(&conns, conns.join_server.listener));
		ASSERT_EQ(0, pipe(order));
		ASSERT_EQ(0, pipe(report));
		pid = start_stranger(&address, size, numbers[i], order[0], report[1]);
		for (int j = 0; j < numbers[i]; j++) {
			ASSERT_EQ(1, read(report[0], &byte, 1));
			ASSERT_TRUE(mf_join_conns_look(&conns, conns.join_server.listener));
			ASSERT_EQ(1, write(order[1], "", 1));
		}
		ASSERT_EQ(1, read(report[0], &byte, 1));
		EXPECT_EQ(ROOM, byte);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status);
		EXPECT_FALSE(is_gone(own));
		close(own);
		mf_join_conns_close(&conns);
		for (int j = 0; j < 2; j++) {
			close(order[j]);
			close(report[j]);
		}
	}
}

/* Returns a path of @length characters that begins with "/". */
static char *make_path(size_t length)
{
	char *path = malloc(length + 1);

	memset(path, 'd', length);
	for (size_t i = 0; i < length; i += 100)
		path[i] = '/';
	path[length - 1] = 'e';
	path[length] = '\0';
	return path;
}

/* The cache directory is used if its name is short enough, and ignored otherwise. */
TEST_F(limits, name_of_the_cache)
{
	static const char below[] = "/massif";
	static const size_t lengths[] = { MF_STORE_PATH_MAX - 1, MF_STORE_PATH_MAX, 10 * MF_STORE_PATH_MAX };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		char *base = make_path(lengths[i] - strlen(below)), path[MF_STORE_PATH_MAX];

		setenv("XDG_CACHE_HOME", base, 1);
		mf_cachedir_locate(path, sizeof(path));
		EXPECT_EQ(i ? 0 : lengths[i], strlen(path));
		/* The program is profiled whether or not the cache directory is used. */
		ctl_result_free(&self->result);
		CTL_RUN(&self->result, "massif-ctl", "-q", "--massif-out-file=l.out", ctl_target("heap_children"),
			"leaf");
		EXPECT_EQ(7, ctl_exit_code(&self->result));
		EXPECT_STREQ("", self->result.err);
		EXPECT_EQ(1, ctl_find_files("l.out", NULL));
		ctl_remove_files("l.out");
		free(base);
	}
	unsetenv("XDG_CACHE_HOME");
}

/*
 * Finds the file whose command begins with @words, and returns the command from its "cmd: " line. The caller frees the
 * string.
 */
static char *command_line(const char *words)
{
	char name[256], *text = NULL, *line = NULL;

	while (!line && ctl_find_files("l.out", name)) {
		free(text);
		text = ctl_read_file(name);
		line = strstr(text, "\ncmd: ");
		if (line && strncmp(line + 6, words, strlen(words)))
			line = NULL;
		if (line)
			line = strndup(line + 6, strcspn(line + 6, "\n"));
		unlink(name);
	}
	free(text);
	return line;
}

/*
 * If a process executes another program, the "cmd:" line of the profile shows no more than MF_JOIN_ARGS_MAX bytes of
 * the program's command line, including the terminating NUL of each word.
 */
TEST_F(limits, bytes_of_a_command)
{
	static const size_t numbers[] = {
		MF_JOIN_ARGS_MAX, MF_JOIN_ARGS_MAX + 1, 10 * MF_JOIN_ARGS_MAX,
	};
	char target[512], words[600];
	size_t head;

	snprintf(target, sizeof(target), "%s", ctl_target("heap_children"));
	snprintf(words, sizeof(words), "%s leaf ", target);
	head = strlen(words);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const char *argv[32] = { "massif-ctl", "-q", "--trace-children=yes", "--massif-out-file=l.out.%p",
					 target, "fork_exec", target, "leaf" };
		size_t left = numbers[i] - head, n = 8;
		char *line, *arguments[16];

		while (left) {
			size_t bytes = left > 100001 ? 100000 : left;
			char *word = malloc(bytes);

			memset(word, 'a' + (int)n % 26, bytes - 1);
			word[bytes - 1] = '\0';
			arguments[n - 8] = word;
			argv[n++] = word;
			left -= bytes;
		}
		ctl_result_free(&self->result);
		ctl_run(&self->result, NULL, NULL, argv);
		EXPECT_EQ(7, ctl_exit_code(&self->result));
		EXPECT_STREQ("", self->result.err);
		line = command_line(words);
		ASSERT_NE(NULL, line);
		/* Each NUL except the last is printed as a space. A command that was truncated ends in "...". */
		EXPECT_EQ(i ? MF_JOIN_ARGS_MAX + strlen("...") : MF_JOIN_ARGS_MAX - 1, strlen(line));
		EXPECT_EQ(i > 0, !strcmp(line + strlen(line) - 3, "..."));
		EXPECT_EQ(0, strncmp(line + head, arguments[0], MF_JOIN_ARGS_MAX - head - 1));
		free(line);
		ctl_remove_files("l.out");
		while (n-- > 8)
			free(arguments[n - 8]);
	}
}

/*
 * Creates nested directories until the path of the innermost one is @length bytes long. The innermost directory becomes
 * the working directory.
 */
static bool go_deep(size_t length)
{
	char here[8192], name[256];

	while (getcwd(here, sizeof(here)) && strlen(here) < length) {
		size_t left = length - strlen(here) - 1;

		/*
		 * A directory name is at most 100 letters long. The rest of the path must be either empty or at least
		 * two bytes long (a slash and a letter), so if a name of 100 letters would leave one byte, use only 98.
		 */
		left = left > 100 ? (left - 100 < 2 ? 98 : 100) : left;
		memset(name, 'd', left);
		name[left] = '\0';
		if (!left || mkdir(name, 0700) || chdir(name))
			return false;
	}
	return true;
}

/*
 * If heap mode cannot profile a program, the message names the program, even if it was executed by a relative path and
 * however long the path of its working directory is.
 */
TEST_F_TIMEOUT(limits, path_of_the_working_directory, 120)
{
	static const size_t lengths[] = { 1023, 1024, 1025, 4000 };
	char here[4096], deep[8192], program[4200], target[4096];

	ASSERT_NE(NULL, getcwd(here, sizeof(here)));
	snprintf(target, sizeof(target), "%s", ctl_target("ctl_static_waits"));
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		char shell[5000];

		ASSERT_EQ(0, mkdir("l.deep", 0700));
		ASSERT_EQ(0, chdir("l.deep"));
		ASSERT_TRUE(go_deep(lengths[i]));
		ASSERT_EQ(0, symlink(target, "./p"));
		ASSERT_NE(NULL, getcwd(deep, sizeof(deep)));
		EXPECT_EQ(lengths[i], strlen(deep));
		/* massif-ctl itself runs in a different directory from the program. */
		ASSERT_EQ(0, chdir(here));
		ctl_result_free(&self->result);
		CTL_RUN(&self->result, "massif-ctl", "-q", "--trace-children=yes",
			"--massif-out-file=/dev/null", "sh", "-c", "cd \"$1\" && ./p; exit 5", "sh", deep);
		EXPECT_EQ(5, ctl_exit_code(&self->result));
		snprintf(program, sizeof(program), "massif-ctl: %s is statically linked", target);
		EXPECT_EQ(self->result.err, strstr(self->result.err, program)) {
			TH_LOG("%zu: '%s'", lengths[i], self->result.err);
		}
		snprintf(shell, sizeof(shell), "rm -r '%s/l.deep'", here);
		ASSERT_EQ(0, system(shell));
	}
}

TEST_HARNESS_MAIN
