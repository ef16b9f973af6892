// SPDX-License-Identifier: GPL-2.0
// massif-ctl list and the snapshot commands: reading a running profile, and who may do so.

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/diff_end.h"
#include "ctl/control/server.h"

/* On a busy machine, what usually takes seconds can take minutes. */
#define SECONDS 600
#define NOBODY	65534

FIXTURE(control) {
	struct ctl_result result;
	pid_t ctl;
	pid_t program;
	char pid[16];
};

static void write_id_map(const char *path, unsigned int id)
{
	char text[32];
	int fd = open(path, O_WRONLY), length;
	ssize_t written;

	length = snprintf(text, sizeof(text), "%u %u 1", id, id);
	written = fd < 0 ? -1 : write(fd, text, (size_t)length);
	(void)written;
	close(fd);
}

/* Denies setgroups(2); this is required before a user namespace can map a group. */
static void write_setgroups(void)
{
	FILE *file = fopen("/proc/self/setgroups", "w");

	if (!file || fputs("deny", file) < 0 || fclose(file))
		perror("/proc/self/setgroups");
}

/*
 * Enters a new network namespace. Socket names belong to the namespace, so other runs of massif-ctl are not
 * visible.
 */
static bool be_alone(void)
{
	unsigned int uid = geteuid(), gid = getegid();

	if (unshare(CLONE_NEWNET) == 0)
		return true;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	write_id_map("/proc/self/uid_map", uid);
	write_setgroups();
	write_id_map("/proc/self/gid_map", gid);
	return true;
}

FIXTURE_SETUP(control)
{
	ASSERT_TRUE(be_alone());
	ctl_remove_files("massif.");
	ctl_remove_files("c.");
}

/* Waits for a line "ready PID" in the file c.out. */
static pid_t wait_for_program(void)
{
	pid_t pid = 0;

	for (int i = 0; i < 2400 && !pid; i++) {
		char *text = ctl_read_file("c.out");

		if (text && strchr(text, '\n'))
			sscanf(text, "ready %d", &pid);
		free(text);
		usleep(50000);
	}
	return pid;
}

static void before_ctl(void)
{
	int fd = open("c.out", O_WRONLY | O_CREAT | O_TRUNC, 0666);

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	dup2(fd, 1);
	fd = open("c.err", O_WRONLY | O_CREAT | O_TRUNC, 0666);
	dup2(fd, 2);
}

#define START(...) do {										\
	self->ctl = ctl_start(before_ctl, (const char *const[]){ "massif-ctl", __VA_ARGS__, NULL });	\
	self->program = wait_for_program();							\
	ASSERT_LT(0, self->program);								\
	snprintf(self->pid, sizeof(self->pid), "%d", (int)self->program);			\
} while (0)

static void stop(FIXTURE_DATA(control) *self)
{
	if (self->program > 0)
		kill(self->program, SIGTERM);
	if (self->ctl > 0)
		waitpid(self->ctl, NULL, 0);
	self->program = 0;
	self->ctl = 0;
}

FIXTURE_TEARDOWN(control)
{
	stop(self);
	EXPECT_EQ(0, ctl_find_files(".massif-", NULL));
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
	ctl_remove_files("c.");
}

#define RUN(...) do {						\
	ctl_result_free(&self->result);				\
	CTL_RUN(&self->result, "massif-ctl", __VA_ARGS__);	\
} while (0)

#define EXPECT_FAILS(words, ...) do {				\
	RUN(__VA_ARGS__);					\
	EXPECT_EQ(1, ctl_exit_code(&self->result));		\
	EXPECT_NE(NULL, strstr(self->result.err, words)) {	\
		TH_LOG("%s", self->result.err);			\
	}							\
} while (0)

static void expect_file(struct __test_metadata *_metadata, const char *name, const char *begin,
			const char *end)
{
	char *text = ctl_read_file(name);

	ASSERT_NE(NULL, text);
	EXPECT_TRUE(ctl_is_massif_file(text));
	EXPECT_EQ(text, strstr(text, begin));
	EXPECT_NE(NULL, strstr(text, end)) {
		TH_LOG("%s", text);
	}
	free(text);
}

/*
 * Takes a snapshot of an idle heap of 500 blocks with each of the three commands. This does not change the snapshots of
 * the profile itself.
 */
TEST_F_TIMEOUT(control, at_a_fixed_point, SECONDS)
{
	const char *const no_options[] = { NULL };
	char expected[1024], *all, *final, *end, *expected_final, name[256];
	bool added;
	struct stat st;

	START("--time-unit=B", "-q", ctl_target("ctl_grow"), "500");
	usleep(200000);
	RUN("snapshot");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.out);
	snprintf(expected, sizeof(expected), "massif-ctl: ctl_grow (pid %s): wrote massif.vgdb.out\n", self->pid);
	EXPECT_STREQ(expected, self->result.err);
	snprintf(expected, sizeof(expected),
		 "desc: --time-unit=B\ncmd: %s 500\ntime_unit: B\n#-----------\nsnapshot=0\n"
		 "#-----------\ntime=508000\nmem_heap_B=500000\nmem_heap_extra_B=8000\n"
		 "mem_stacks_B=0\nheap_tree=empty\n", ctl_target("ctl_grow"));
	expect_file(_metadata, "massif.vgdb.out", expected, "heap_tree=empty\n");
	ASSERT_EQ(0, stat("massif.vgdb.out", &st));
	EXPECT_EQ(strlen(expected), st.st_size);

	RUN("snapshot", "-");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ(expected, self->result.out);
	EXPECT_STREQ("", self->result.err);

	RUN("detailed_snapshot", "--pid", self->pid, "c.detailed");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	expect_file(_metadata, "c.detailed", "desc: --time-unit=B\n",
		    "heap_tree=detailed\nn1: 500000 (heap allocation functions) malloc/new/new[], "
		    "--alloc-fns, etc.\n n1: 500000 0x");

	RUN("all_snapshots", "c.all", "--pid", self->pid);
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	stop(self);
	all = ctl_read_file("c.all");
	ASSERT_EQ(1, ctl_find_files("massif.out.", name));
	final = ctl_read_file(name);
	/*
	 * A command wrote the file c.all during the run. The final file has one snapshot more than c.all, namely the
	 * one taken when the program ended. Since the heap only ever grew, this last snapshot is the peak, and it must
	 * equal the detailed snapshot that a command wrote to c.detailed.
	 */
	end = ctl_read_file("c.detailed");
	ASSERT_NE(NULL, end);
	expected_final = diff_end_add(all, end, final, no_options, &added);
	free(end);
	EXPECT_TRUE(added);
	EXPECT_STREQ(expected_final, final);
	free(expected_final);
	free(all);
	free(final);
}

/* While the program is idle, its execution tree is the same as the one written when it ends. */
TEST_F_TIMEOUT(control, xtmemory, SECONDS)
{
	char *meanwhile, *final;

	START("--time-unit=B", "-q", "--xtree-memory=allocs", "--xtree-memory-file=c.final",
	      ctl_target("ctl_grow"), "500");
	usleep(200000);
	RUN("xtmemory", "--pid", self->pid, "c.%p.kcg");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	EXPECT_EQ(self->result.out, strstr(self->result.out, "xtree memory report: c."));
	EXPECT_NE(NULL, strstr(self->result.out, self->pid));
	RUN("xtmemory", "c.tree.ms");
	expect_file(_metadata, "c.tree.ms", "desc: xtree.produce_report\n",
		    "\nn1: 500000 curB : currently allocated Bytes\n n1: 500000 0x");
	remove("c.tree.ms");
	RUN("xtmemory");
	EXPECT_NE(NULL, strstr(self->result.out, "xtree memory report: xtmemory.kcg."));
	EXPECT_EQ(1, ctl_find_files("xtmemory.kcg.", (char[256]){ 0 }));
	ctl_remove_files("xtmemory.kcg.");
	snprintf(self->pid, sizeof(self->pid), "c.%d.kcg", (int)self->program);
	meanwhile = ctl_read_file(self->pid);
	stop(self);
	final = ctl_read_file("c.final");
	ASSERT_NE(NULL, final);
	EXPECT_STREQ(final, meanwhile);
	EXPECT_NE(NULL, strstr(final, "\ntotals: 500000 500\n"));
	free(meanwhile);
	free(final);
}

TEST_F_TIMEOUT(control, list_shows_what_grows, SECONDS)
{
	char line[256];

	RUN("list");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.out);
	EXPECT_STREQ("massif-ctl: no profile is running\n", self->result.err);
	START("-q", "--time-unit=B", ctl_target("ctl_grow"), "100");
	RUN("list");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	snprintf(line, sizeof(line), "\n%8d heap            100000 ", (int)self->program);
	EXPECT_NE(NULL, strstr(self->result.out, line)) {
		TH_LOG("%s", self->result.out);
	}
	EXPECT_NE(NULL, strstr(self->result.out, "/ctl_grow 100\n"));
	stop(self);
	RUN("list");
	EXPECT_STREQ("", self->result.out);
}

/*
 * Takes snapshots while the program allocates continuously: each file is complete, and the program is not
 * affected.
 */
TEST_F_TIMEOUT(control, while_it_allocates, SECONDS)
{
	static const char *const verbs[] = { "snapshot", "detailed_snapshot", "all_snapshots",
					     "xtmemory" };

	START("-q", "--time-unit=B", "--detailed-freq=1", "--max-snapshots=20",
	      ctl_target("ctl_grow"));
	for (int i = 0; i < 40; i++) {
		char *text;

		RUN(verbs[i % 4], i % 4 == 3 ? "c.file.ms" : "c.file");
		EXPECT_EQ(0, ctl_exit_code(&self->result)) {
			TH_LOG("%s: %s", verbs[i % 4], self->result.err);
		}
		text = ctl_read_file(i % 4 == 3 ? "c.file.ms" : "c.file");
		ASSERT_NE(NULL, text);
		EXPECT_TRUE(ctl_is_massif_file(text)) {
			TH_LOG("%s", text);
		}
		/* The program has at most 1024 blocks, each smaller than 3000 bytes. */
		for (char *at = text; (at = strstr(at, "mem_heap_B=")); at++)
			EXPECT_GE(1024 * 3000, strtoul(at + 11, NULL, 10));
		free(text);
		remove("c.file");
	}
	EXPECT_EQ(0, waitpid(self->ctl, NULL, WNOHANG));
}

/* Waits until massif-ctl list shows the command @words, so that its massif-ctl answers. Returns whether it does. */
static bool await_listed(FIXTURE_DATA(control) *self, const char *words)
{
	for (int i = 0; i < 2400; i++) {
		RUN("list");
		if (strstr(self->result.out, words))
			return true;
		usleep(50000);
	}
	return false;
}

/* Threads free each other's blocks. A sum read in the middle of such a free must not be negative. */
TEST_F_TIMEOUT(control, while_threads_allocate, SECONDS)
{
	self->ctl = ctl_start(before_ctl, (const char *const[]){
		"massif-ctl", "-q", "--time-unit=B", "--detailed-freq=1", "--max-snapshots=20",
		ctl_target("heap_storm"), "4", "100000000", NULL });
	ASSERT_TRUE(await_listed(self, "/heap_storm 4 ")) {
		TH_LOG("%s%s", self->result.out, self->result.err);
	}
	for (int i = 0; i < 20; i++) {
		char *text, *at;

		RUN(i % 2 ? "detailed_snapshot" : "snapshot", "c.file");
		EXPECT_EQ(0, ctl_exit_code(&self->result)) {
			TH_LOG("%s", self->result.err);
		}
		text = ctl_read_file("c.file");
		ASSERT_NE(NULL, text);
		EXPECT_TRUE(ctl_is_massif_file(text));
		at = strstr(text, "mem_heap_B=");
		ASSERT_NE(NULL, at);
		EXPECT_GE(1ul << 30, strtoul(at + 11, NULL, 10));
		free(text);
	}
	EXPECT_EQ(0, waitpid(self->ctl, NULL, WNOHANG));
	kill(self->ctl, SIGTERM);
}

TEST_F_TIMEOUT(control, which_one, SECONDS)
{
	char pid[16], candidate[PATH_MAX];
	pid_t first;

	EXPECT_FAILS("no profile of this user is running\n", "snapshot");
	START("-q", "--time-unit=B", ctl_target("ctl_grow"), "1");
	first = self->ctl;
	strcpy(pid, self->pid);
	remove("c.out");
	START("-q", "--time-unit=B", ctl_target("ctl_grow"), "2");
	snprintf(candidate, sizeof(candidate), "\nmassif-ctl:   --pid %s  %s 1\n", pid, ctl_target("ctl_grow"));
	EXPECT_FAILS("2 profiles are running; choose one of\n", "snapshot");
	EXPECT_NE(NULL, strstr(self->result.err, candidate));
	snprintf(candidate, sizeof(candidate), "\nmassif-ctl:   --pid %s  %s 2\n", self->pid, ctl_target("ctl_grow"));
	EXPECT_NE(NULL, strstr(self->result.err, candidate));
	EXPECT_EQ(0, ctl_find_files("massif.vgdb", NULL));
	RUN("snapshot", "--pid", self->pid, "c.second");
	expect_file(_metadata, "c.second", "desc: ", "\nmem_heap_B=2000\n");
	kill(atoi(pid), SIGTERM);
	waitpid(first, NULL, 0);
	EXPECT_FAILS("is not being profiled", "snapshot", "--pid", pid);
	RUN("snapshot");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	expect_file(_metadata, "massif.vgdb.out", "desc: ", "\nmem_heap_B=2000\n");
	EXPECT_FAILS("--pid needs a process id", "snapshot", "--pid");
	EXPECT_FAILS("--pid needs a process id", "snapshot", "--pid=x");
	EXPECT_FAILS("Unknown option: --detailed", "snapshot", "--detailed");
	EXPECT_FAILS("one file at a time: b", "snapshot", "a", "b");
	EXPECT_FAILS("cannot write './no/c.file': No such file or directory\n", "snapshot", "./no/c.file");
}

/* Connects to the only running massif-ctl. Returns a descriptor or -1. */
static int connect_to_it(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	FILE *sockets = fopen("/proc/net/unix", "r");
	char line[512], *name = NULL;

	while (!name && fgets(line, sizeof(line), sockets))
		name = strstr(line, "@massif-ctl/");
	fclose(sockets);
	if (!name)
		return -1;
	name[strcspn(name, "\n")] = '\0';
	strcpy(address.sun_path + 1, name + 1);
	if (connect(fd, (struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))))
		return -1;
	return fd;
}

/* Malformed requests get no answer and do not delay other clients. */
TEST_F_TIMEOUT(control, bad_requests_are_harmless, SECONDS)
{
	static const struct mf_control_request requests[] = {
		{ 0, MF_CONTROL_LIST, 0, 0 },
		{ MF_CONTROL_MAGIC, MF_CONTROL_VERBS, 0, 0 },
		{ MF_CONTROL_MAGIC, UINT32_MAX, 0, 0 },
		{ MF_CONTROL_MAGIC, MF_CONTROL_SNAPSHOT, -1, 0 },
	};
	static char big[100000];
	char buffer[64];
	int fds[40];

	START("-q", "--time-unit=B", ctl_target("ctl_grow"), "1");
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		fds[0] = connect_to_it();
		ASSERT_LE(0, fds[0]);
		EXPECT_EQ(sizeof(requests[i]),
			  send(fds[0], &requests[i], sizeof(requests[i]), MSG_NOSIGNAL));
		EXPECT_EQ(0, recv(fds[0], buffer, sizeof(buffer), 0));
		close(fds[0]);
	}
	for (size_t size = 1; size <= sizeof(big); size *= 10) {
		fds[0] = connect_to_it();
		EXPECT_EQ(size, send(fds[0], big, size, MSG_NOSIGNAL));
		EXPECT_EQ(0, recv(fds[0], buffer, sizeof(buffer), 0));
		close(fds[0]);
	}
	/* Open many connections that send nothing, then some that are closed without waiting for the answer. */
	for (int i = 0; i < 40; i++) {
		fds[i] = connect_to_it();
		EXPECT_LE(0, fds[i]);
	}
	RUN("list");
	EXPECT_NE(NULL, strstr(self->result.out, "/ctl_grow 1\n"));
	for (int i = 0; i < 40; i++)
		close(fds[i]);
	for (int i = 0; i < 10; i++) {
		struct mf_control_request all = { MF_CONTROL_MAGIC, MF_CONTROL_ALL_SNAPSHOTS };

		fds[0] = connect_to_it();
		EXPECT_EQ(sizeof(all), send(fds[0], &all, sizeof(all), MSG_NOSIGNAL));
		close(fds[0]);
	}
	RUN("list");
	EXPECT_NE(NULL, strstr(self->result.out, "/ctl_grow 1\n"));
	EXPECT_EQ(0, waitpid(self->ctl, NULL, WNOHANG));
}

static void become_nobody(void)
{
	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		_exit(98);
}

static void run_as_nobody(void)
{
	before_ctl();
	become_nobody();
}

/* Another user can neither list the profiles nor get an answer; root can do both. */
TEST_F_TIMEOUT(control, other_users, SECONDS)
{
	struct mf_control_request request = { MF_CONTROL_MAGIC, MF_CONTROL_LIST };
	const char *list[] = { "massif-ctl", "list", NULL };
	char buffer[64];
	int status;
	pid_t pid;

	CTL_NEEDS_USER(NOBODY);
	START("-q", "--time-unit=B", ctl_target("ctl_grow"), "3");
	pid = fork();
	if (!pid) {
		int fd;

		become_nobody();
		fd = connect_to_it();
		send(fd, &request, sizeof(request), MSG_NOSIGNAL);
		_exit(fd < 0 || recv(fd, buffer, sizeof(buffer), 0) > 0);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	ctl_run(&self->result, NULL, become_nobody, list);
	EXPECT_STREQ("", self->result.out);
	EXPECT_STREQ("massif-ctl: no profile is running\n", self->result.err);
	stop(self);

	ASSERT_EQ(0, chmod(".", 0777));
	remove("c.out");
	remove("c.err");
	self->ctl = ctl_start(run_as_nobody, (const char *const[]){
		"massif-ctl", "-q", "--time-unit=B", "--massif-out-file=massif.out.nobody",
		ctl_target("ctl_grow"), "4", NULL });
	self->program = wait_for_program();
	RUN("list");
	EXPECT_NE(NULL, strstr(self->result.out, "/ctl_grow 4\n"));
	RUN("snapshot", "c.root");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	ctl_result_free(&self->result);
	ctl_run(&self->result, NULL, become_nobody, list);
	EXPECT_NE(NULL, strstr(self->result.out, "/ctl_grow 4\n"));
}

/* massif-ctl sends no request to a socket of another user, even if its name looks like that of a massif-ctl socket. */
TEST_F_TIMEOUT(control, imposters, SECONDS)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int asked[2], status;
	char byte;
	pid_t pid;

	CTL_NEEDS_USER(NOBODY);
	ASSERT_EQ(0, pipe(asked));
	pid = fork();
	if (!pid) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), guest;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setgid(NOBODY - 1) || setuid(NOBODY - 1))
			_exit(1);
		strcpy(address.sun_path + 1, "massif-ctl/1/0");
		if (bind(fd, (struct sockaddr *)&address,
			 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 15)) || listen(fd, 1))
			_exit(2);
		if (write(asked[1], "r", 1) != 1)
			_exit(3);
		guest = accept(fd, NULL, NULL);
		if (recv(guest, &byte, 1, 0) > 0 && write(asked[1], "a", 1) != 1)
			_exit(4);
		/* Accept no more connections, so that the socket's queue of waiting connections fills up. */
		pause();
	}
	ASSERT_EQ(1, read(asked[0], &byte, 1));
	for (int i = 0; i < 4; i++) {
		const char *list[] = { "massif-ctl", "list", NULL };

		ctl_result_free(&self->result);
		ctl_run(&self->result, NULL, become_nobody, list);
		EXPECT_STREQ("massif-ctl: no profile is running\n", self->result.err);
		EXPECT_EQ(0, ctl_exit_code(&self->result));
	}
	fcntl(asked[0], F_SETFL, O_NONBLOCK);
	EXPECT_EQ(-1, read(asked[0], &byte, 1));
	EXPECT_EQ(EAGAIN, errno);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

#define SILENT 4

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Another user's sockets never answer root: one timeout covers all of them, and the other profiles are still listed. */
TEST_F_TIMEOUT(control, silent_ones, SECONDS)
{
	int ready[2], status;
	double begin;
	char byte;
	pid_t pid;

	CTL_NEEDS_USER(NOBODY);
	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setgid(NOBODY - 1) || setuid(NOBODY - 1))
			_exit(1);
		for (int i = 0; i < SILENT; i++) {
			struct sockaddr_un address = { .sun_family = AF_UNIX };
			int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
			int n = snprintf(address.sun_path + 1, 64, "massif-ctl/1/%d", i);

			if (bind(fd, (struct sockaddr *)&address,
				 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) ||
			    listen(fd, 100))
				_exit(2);
		}
		if (write(ready[1], "r", 1) != 1)
			_exit(3);
		pause();
	}
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	START("-q", "--time-unit=B", ctl_target("ctl_grow"), "3");
	begin = seconds();
	RUN("list");
	/*
	 * massif-ctl list waits a total of ten seconds for all sockets. If it waited for them one after another, it
	 * would wait ten seconds for each.
	 */
	EXPECT_GT(25, seconds() - begin);
	EXPECT_LT(9, seconds() - begin);
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.out, "/ctl_grow 3\n"));
	EXPECT_STREQ("massif-ctl: 4 processes that may be massif-ctl did not answer\n", self->result.err);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

TEST_HARNESS_MAIN
