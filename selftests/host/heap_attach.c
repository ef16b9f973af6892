// SPDX-License-Identifier: GPL-2.0
// massif-ctl attach --heap: what a running program allocates from then on is counted exactly, and the program does not
// notice.

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

enum { SECONDS = 300, STEP_MS = 10, STEPS = 60000 / STEP_MS, NOBODY = 65534 };

FIXTURE(attach) {
	struct ctl_result result;
	pid_t target, ctl;
	int in, out; /* pipes to and from the target */
	char pid[16]; /* of the process to attach to */
};

FIXTURE_SETUP(attach)
{
	self->in = self->out = -1;
	ctl_remove_files("massif.");
	ctl_remove_files("a.");
}

FIXTURE_TEARDOWN(attach)
{
	if (self->target > 0)
		kill(self->target, SIGKILL);
	if (self->ctl > 0)
		kill(self->ctl, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
	ctl_remove_files("a.");
}

static void pass_time(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = STEP_MS * 1000000l }, NULL);
}

/* Reads a line of the target. Returns false at the end. */
static bool read_line(int fd, char *line, size_t size)
{
	size_t n = 0;

	while (n < size - 1 && read(fd, line + n, 1) == 1 && line[n] != '\n')
		n++;
	line[n] = '\0';
	return n;
}

/* Starts target @name with up to two words, and waits until it is ready. */
static void start(struct __test_metadata *_metadata, FIXTURE_DATA(attach) *self, const char *name, const char *word,
		  const char *other)
{
	int in[2], out[2];
	char line[64];

	ASSERT_EQ(0, pipe2(in, O_CLOEXEC));
	ASSERT_EQ(0, pipe2(out, O_CLOEXEC));
	self->target = fork();
	if (!self->target) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(ctl_target(name), name, word, other, NULL);
		_exit(99);
	}
	close(in[0]);
	close(out[1]);
	self->in = in[1];
	self->out = out[0];
	ASSERT_TRUE(read_line(self->out, line, sizeof(line)));
	snprintf(self->pid, sizeof(self->pid), "%d", atoi(line + strlen("ready ")));
}

/* Has the target work once, and waits until it has. */
static void let_work(struct __test_metadata *_metadata, FIXTURE_DATA(attach) *self, char byte)
{
	char line[64];

	ASSERT_EQ(1, write(self->in, &byte, 1));
	ASSERT_TRUE(read_line(self->out, line, sizeof(line)));
	EXPECT_STREQ("done", line);
}

/* Ends the target, which must be well. */
static void expect_end(struct __test_metadata *_metadata, FIXTURE_DATA(attach) *self)
{
	int status;

	if (self->in >= 0)
		close(self->in);
	self->in = -1;
	ASSERT_EQ(self->target, waitpid(self->target, &status, 0));
	self->target = 0;
	EXPECT_EQ(0, status);
	close(self->out);
}

static void to_files(void)
{
	int fd = open("a.err", O_WRONLY | O_CREAT | O_TRUNC, 0600);

	dup2(fd, 2);
	dup2(fd, 1);
}

/* Starts massif-ctl attach --heap, and waits until it has attached. */
static void attach(struct __test_metadata *_metadata, FIXTURE_DATA(attach) *self, const char *option)
{
	const char *argv[] = { "massif-ctl", "attach", "--heap", self->pid, "--time-unit=B", "--massif-out-file=a.out",
			       "--record=a.rec", option, NULL };
	bool attached = false;

	unlink("a.err");
	self->ctl = ctl_start(to_files, argv);
	for (int i = 0; i < STEPS && !attached; i++) {
		char *text = ctl_read_file("a.err");

		attached = text && strstr(text, "attached to the heap of process");
		if (text && !attached && waitpid(self->ctl, NULL, WNOHANG))
			TH_LOG("%s", text);
		free(text);
		pass_time();
	}
	ASSERT_TRUE(attached);
}

/* Waits for massif-ctl. */
static void expect_profile(struct __test_metadata *_metadata, FIXTURE_DATA(attach) *self)
{
	int status;

	ASSERT_EQ(self->ctl, waitpid(self->ctl, &status, 0));
	self->ctl = 0;
	EXPECT_EQ(0, status);
}

static void detach(struct __test_metadata *_metadata, FIXTURE_DATA(attach) *self)
{
	kill(self->ctl, SIGINT);
	expect_profile(_metadata, self);
}

/* Returns the text of a massif.out file after its first two lines, which name options and command. */
static char *body_of(const char *name)
{
	char *text = ctl_read_file(name), *at = text;

	for (int i = 0; at && i < 2; i++)
		at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL;
	at = at ? strdup(at) : NULL;
	free(text);
	return at;
}

/* The program allocates nothing before it is attached to: its file is that of a run from the start. */
static void expect_same(struct __test_metadata *_metadata, FIXTURE_DATA(attach) *self, const char *target)
{
	char *whole, *later;

	ctl_run(&self->result, "ab", NULL,
		(const char *const[]){ "massif-ctl", "--time-unit=B", "--massif-out-file=a.whole", ctl_target(target), NULL });
	EXPECT_EQ(0, self->result.status);
	start(_metadata, self, target, NULL, NULL);
	attach(_metadata, self, NULL);
	let_work(_metadata, self, 'a');
	let_work(_metadata, self, 'b');
	expect_end(_metadata, self);
	expect_profile(_metadata, self);
	whole = body_of("a.whole");
	later = body_of("a.out");
	ASSERT_NE(NULL, whole);
	ASSERT_NE(NULL, later);
	EXPECT_NE(NULL, strstr(later, "(heap allocation functions)"));
	/* The addresses of the program differ; what is after them does not. */
	for (char *a = whole, *b = later; *a && *b;) {
		size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
		const char *x = strstr(a, " 0x"), *y = strstr(b, " 0x");

		if (x && y && x < a + n && y < b + m) {
			EXPECT_EQ(x - a, y - b);
			x = strchr(x, ':');
			y = strchr(y, ':');
			ASSERT_NE(NULL, x);
			ASSERT_NE(NULL, y);
			EXPECT_EQ(0, strncmp(x, y, n - (size_t)(x - a)));
		} else {
			EXPECT_EQ(n, m);
			EXPECT_EQ(0, strncmp(a, b, n)) {
				TH_LOG("%.*s, not %.*s", (int)m, b, (int)n, a);
			}
		}
		a += n + (a[n] != '\0');
		b += m + (b[m] != '\0');
		if (!*a || !*b)
			EXPECT_EQ(*a, *b);
	}
	free(whole);
	free(later);
}

TEST_F_TIMEOUT(attach, counts_as_from_the_start, SECONDS)
{
	expect_same(_metadata, self, "attach");
}

TEST_F_TIMEOUT(attach, counts_in_a_program_at_a_fixed_address, SECONDS)
{
	expect_same(_metadata, self, "attach_fixed");
}

/* Returns how often the recording a.rec says that the target allocated. */
static unsigned long allocations(FIXTURE_DATA(attach) *self)
{
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "massif-ctl", "show", "a.rec");
	return ctl_number(self->result.out, "\ncalls");
}

/* Returns how many allocations are counted in such a target at work. */
static unsigned long count_in(struct __test_metadata *_metadata, FIXTURE_DATA(attach) *self, const char *target,
			      const char *word, const char *other)
{
	unsigned long count;

	start(_metadata, self, target, word, other);
	attach(_metadata, self, NULL);
	let_work(_metadata, self, 'a');
	let_work(_metadata, self, 'b');
	detach(_metadata, self);
	count = allocations(self);
	let_work(_metadata, self, 'c');
	expect_end(_metadata, self);
	return count;
}

/*
 * Neither the programs nor jemalloc itself have bound most of their functions when they are attached to; the program at a
 * fixed address leads to malloc by an entry of its own. The libraries with RTLD_DEEPBIND have the C library's malloc(), and
 * must free with its free(), which they have not bound yet: they are left alone.
 */
TEST_F_TIMEOUT(attach, counts_functions_that_are_not_bound_yet, SECONDS)
{
	unsigned long count = count_in(_metadata, self, "attach", NULL, NULL);
	char library[PATH_MAX];

	ASSERT_NE(NULL, realpath(ctl_target("libattach.so"), library));
	EXPECT_LT(2000, count);
	EXPECT_EQ(count, count_in(_metadata, self, "attach_jemalloc_lazy", NULL, NULL));
	EXPECT_EQ(count, count_in(_metadata, self, "attach_jemalloc_fixed", NULL, NULL));
	EXPECT_EQ(count, count_in(_metadata, self, "attach_jemalloc_lazy", "deep-library", library));
	EXPECT_EQ(count, count_in(_metadata, self, "attach_jemalloc_fixed", "deep-library", library));
	EXPECT_EQ(count + 14, count_in(_metadata, self, "attach", "deep-library", library));
}

/* The dynamic linker would give a word its old value again. */
TEST_F_TIMEOUT(attach, while_a_function_is_bound, SECONDS)
{
	unsigned long count = count_in(_metadata, self, "attach", NULL, NULL);

	EXPECT_EQ(count + 14, count_in(_metadata, self, "attach", "steps-in-plt", NULL));
	EXPECT_EQ(count + 14, count_in(_metadata, self, "attach", "steps-in-linker", NULL));
}

TEST_F_TIMEOUT(attach, stops_counting_at_a_signal, SECONDS)
{
	unsigned long once;

	start(_metadata, self, "attach", NULL, NULL);
	let_work(_metadata, self, 'a');
	attach(_metadata, self, NULL);
	let_work(_metadata, self, 'b');
	detach(_metadata, self);
	once = allocations(self);
	EXPECT_LT(1000, once);
	let_work(_metadata, self, 'c');
	attach(_metadata, self, NULL);
	let_work(_metadata, self, 'd');
	let_work(_metadata, self, 'e');
	detach(_metadata, self);
	EXPECT_EQ(2 * once, allocations(self));
	let_work(_metadata, self, 'f');
	expect_end(_metadata, self);
}

/* Returns how many lines of the process's mappings contain @text. */
static unsigned int count_mappings(const char *pid, const char *text)
{
	char path[64], line[512];
	unsigned int n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		n += strstr(line, text) != NULL;
	if (file)
		fclose(file);
	return n;
}

static void attach_often(struct __test_metadata *_metadata, FIXTURE_DATA(attach) *self, int times)
{
	for (int i = 0; i < times; i++) {
		ctl_result_free(&self->result);
		CTL_RUN(&self->result, "massif-ctl", "attach", "--heap", self->pid, "--duration=0.02",
			"--massif-out-file=a.out");
		ASSERT_EQ(0, self->result.status) {
			TH_LOG("attach %d: %s", i, self->result.err);
		}
	}
}

/*
 * A copy of the shim has five mappings. Another one is loaded only if there is a thread in each that is there, and a thread
 * is in one at most: on a busy machine, threads are often stopped in the middle of malloc. 30 are possible.
 */
TEST_F_TIMEOUT(attach, a_hundred_times_to_threads_that_allocate, SECONDS)
{
	start(_metadata, self, "attach", "storm", "8");
	attach_often(_metadata, self, 100);
	EXPECT_GE(5 * (8 + 1), count_mappings(self->pid, "memfd:massif-shim"));
	expect_end(_metadata, self);
}

TEST_F_TIMEOUT(attach, to_many_threads, SECONDS)
{
	start(_metadata, self, "attach", "storm", "64");
	attach_often(_metadata, self, 10);
	expect_end(_metadata, self);
}

/* A thread that is created by one that is traced is traced, too, and cannot be seized again. */
TEST_F_TIMEOUT(attach, to_one_that_creates_threads, SECONDS)
{
	start(_metadata, self, "attach", "creates", NULL);
	attach_often(_metadata, self, 20);
	expect_end(_metadata, self);
}

TEST_F_TIMEOUT(attach, to_a_thread_that_never_waits, SECONDS)
{
	start(_metadata, self, "attach", "alone", NULL);
	attach_often(_metadata, self, 10);
	kill(self->target, SIGTERM);
	expect_end(_metadata, self);
}

TEST_F_TIMEOUT(attach, among_signals_whose_handlers_allocate, SECONDS)
{
	start(_metadata, self, "attach", "signals", "8");
	attach_often(_metadata, self, 10);
	expect_end(_metadata, self);
	start(_metadata, self, "attach", "alone-signals", NULL);
	attach_often(_metadata, self, 10);
	kill(self->target, SIGTERM);
	expect_end(_metadata, self);
}

/* Has redis-server run @script. Returns whether the answer is @answer. */
static bool ask_redis(FIXTURE_DATA(attach) *self, const char *script, const char *answer)
{
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "redis-cli", "-s", "a.socket", "eval", script, "0");
	return !strcmp(self->result.out, answer);
}

/* Redis is linked with jemalloc, which binds its own functions when they are first called. */
TEST_F_TIMEOUT(attach, to_redis_while_it_serves, SECONDS)
{
	static const char set[] = "for i = 1, 1000 do redis.call('set', 'k' .. i, string.rep('x', 200)) end "
				  "return redis.call('dbsize')";
	static const char clear[] = "redis.call('flushall') return 7";
	unsigned long kilobytes;
	pid_t clients;
	int status;

	if (access("/usr/bin/redis-server", X_OK))
		SKIP(return, "redis-server is not installed");
	self->target = ctl_start(to_files, (const char *const[]){ "redis-server", "--port", "0", "--unixsocket", "a.socket",
								  "--save", "", "--io-threads", "4", NULL });
	snprintf(self->pid, sizeof(self->pid), "%d", (int)self->target);
	for (int i = 0; i < STEPS && !ask_redis(self, set, "1000\n"); i++)
		pass_time();
	clients = ctl_start(to_files, (const char *const[]){ "redis-benchmark", "-s", "a.socket", "-q", "-n", "2000000", "-t",
							    "lpush,set,get", NULL });
	attach_often(_metadata, self, 5);
	attach(_metadata, self, NULL);
	kill(clients, SIGKILL);
	waitpid(clients, &status, 0);
	EXPECT_TRUE(WIFSIGNALED(status));
	detach(_metadata, self);
	EXPECT_TRUE(ask_redis(self, clear, "7\n"));
	attach(_metadata, self, NULL);
	EXPECT_TRUE(ask_redis(self, set, "1000\n"));
	detach(_metadata, self);
	EXPECT_LT(3000, allocations(self));
	kilobytes = ctl_number(self->result.out, "held at the end");
	EXPECT_LT(200, kilobytes);
	EXPECT_GT(600, kilobytes);
	EXPECT_NE(NULL, strstr(self->result.out, "zmalloc"));
	EXPECT_TRUE(ask_redis(self, set, "1000\n"));
	kill(self->target, SIGTERM);
	ASSERT_EQ(self->target, waitpid(self->target, &status, 0));
	self->target = 0;
	EXPECT_EQ(0, status);
}

TEST_F_TIMEOUT(attach, is_not_noticed, SECONDS)
{
	start(_metadata, self, "attach", "keep", NULL);
	attach_often(_metadata, self, 20);
	expect_end(_metadata, self);
}

TEST_F_TIMEOUT(attach, counts_in_libraries_that_are_loaded_later, SECONDS)
{
	char library[PATH_MAX];

	ASSERT_NE(NULL, realpath(ctl_target("libattach.so"), library));
	start(_metadata, self, "attach", "load", library);
	attach(_metadata, self, NULL);
	let_work(_metadata, self, 'a');
	detach(_metadata, self);
	CTL_RUN(&self->result, "massif-ctl", "show", "a.rec", "--leaks");
	EXPECT_NE(NULL, strstr(self->result.out, "attach_make")) {
		TH_LOG("%s", self->result.out);
	}
	let_work(_metadata, self, 'b');
	attach(_metadata, self, NULL);
	let_work(_metadata, self, 'c');
	detach(_metadata, self);
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "massif-ctl", "show", "a.rec", "--leaks");
	EXPECT_NE(NULL, strstr(self->result.out, "attach_make"));
	expect_end(_metadata, self);
}

/* Attaches to a program that is in its own way at the mercy of what an attach does, and lets it work. */
static void expect_counted(struct __test_metadata *_metadata, FIXTURE_DATA(attach) *self, const char *word)
{
	start(_metadata, self, "attach", word, NULL);
	attach(_metadata, self, NULL);
	let_work(_metadata, self, 'a');
	detach(_metadata, self);
	EXPECT_LT(1000, allocations(self));
	let_work(_metadata, self, 'b');
	expect_end(_metadata, self);
}

TEST_F_TIMEOUT(attach, to_one_that_blocks_all_signals, SECONDS)
{
	expect_counted(_metadata, self, "blocks");
}

TEST_F_TIMEOUT(attach, to_one_that_forks, SECONDS)
{
	expect_counted(_metadata, self, "forks");
}

TEST_F_TIMEOUT(attach, to_one_with_restricted_system_calls, SECONDS)
{
	if (geteuid())
		SKIP(return, "needs root");
	expect_counted(_metadata, self, "restricted");
}

TEST_F_TIMEOUT(attach, to_one_that_sees_no_files_of_ours, SECONDS)
{
	if (geteuid())
		SKIP(return, "needs root");
	expect_counted(_metadata, self, "hidden");
}

/* massif-ctl looks every 500 ms whether the process runs another program, and may miss one that ends at once. */
TEST_F_TIMEOUT(attach, ends_with_another_program, SECONDS)
{
	char byte = 'a', line[64], *text;

	for (int lives = 0; lives < 2; lives++) {
		start(_metadata, self, "attach", "executes", lives ? ctl_target("attach") : "/bin/true");
		attach(_metadata, self, NULL);
		ASSERT_EQ(1, write(self->in, &byte, 1));
		ASSERT_EQ(lives, read_line(self->out, line, sizeof(line)) > 0);
		expect_profile(_metadata, self);
		EXPECT_EQ(0, unlink("a.out"));
		text = ctl_read_file("a.err");
		EXPECT_TRUE(!lives || strstr(text, "executed another program, which is not profiled"));
		free(text);
		if (lives)
			let_work(_metadata, self, 'a');
		expect_end(_metadata, self);
	}
}

/* Expects that massif-ctl refuses, in words that contain @words. */
static void expect_refusal(struct __test_metadata *_metadata, FIXTURE_DATA(attach) *self, const char *words)
{
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "massif-ctl", "attach", "--heap", self->pid, "--duration=1", "--massif-out-file=a.out");
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, words)) {
		TH_LOG("%s", self->result.err);
	}
	EXPECT_NE(0, access("a.out", F_OK));
}

static void expect_unharmed(struct __test_metadata *_metadata, FIXTURE_DATA(attach) *self, const char *word,
			    const char *words)
{
	start(_metadata, self, "attach", word, NULL);
	expect_refusal(_metadata, self, words);
	let_work(_metadata, self, 'a');
	expect_end(_metadata, self);
}

TEST_F_TIMEOUT(attach, refuses_what_it_could_harm, SECONDS)
{
	expect_unharmed(_metadata, self, "locks", "locks its memory");
	expect_unharmed(_metadata, self, "limited", "limit on its address space");
	expect_unharmed(_metadata, self, "full", "cannot create a memfd");
}

TEST_F_TIMEOUT(attach, refuses_programs_without_a_shim, SECONDS)
{
	self->target = ctl_start(NULL, (const char *const[]){ ctl_target("ctl_static_waits"), NULL });
	snprintf(self->pid, sizeof(self->pid), "%d", (int)self->target);
	for (int i = 0; i < STEPS && count_mappings(self->pid, "ctl_static_waits") == 0; i++)
		pass_time();
	expect_refusal(_metadata, self, "statically linked");
}

TEST_F_TIMEOUT(attach, refuses_a_malloc_of_the_programs_own, SECONDS)
{
	start(_metadata, self, "attach_own", NULL, NULL);
	expect_refusal(_metadata, self, "allocation functions of its own");
	EXPECT_EQ(1, write(self->in, "a", 1));
	expect_end(_metadata, self);
}

TEST_F_TIMEOUT(attach, refuses_too_many_words, SECONDS)
{
	start(_metadata, self, "attach_pointers", NULL, NULL);
	expect_refusal(_metadata, self, "through too many words");
	EXPECT_EQ(1, write(self->in, "a", 1));
	expect_end(_metadata, self);
}

/* Attaches to a target that has mapped a file with such a name so often; or expects a refusal that contains @words. */
static void map_and_attach(struct __test_metadata *_metadata, FIXTURE_DATA(attach) *self, const char *name, int times,
			   const char *words)
{
	char text[64];

	unlink("a.out");
	snprintf(text, sizeof(text), "%s:%d", name, times);
	start(_metadata, self, "attach", "maps", text);
	if (words) {
		expect_refusal(_metadata, self, words);
	} else {
		attach(_metadata, self, NULL);
		let_work(_metadata, self, 'a');
		detach(_metadata, self);
		EXPECT_LT(1000, allocations(self));
	}
	let_work(_metadata, self, 'b');
	expect_end(_metadata, self);
}

/* The C library, the dynamic linker and the vDSO are three ranges of code (MF_CODE_RANGES_MAX in inject/target.h). */
TEST_F_TIMEOUT(attach, refuses_too_many_ranges_of_code, SECONDS)
{
	map_and_attach(_metadata, self, "libjemalloc.a.so", 61, NULL);
	map_and_attach(_metadata, self, "libjemalloc.a.so", 62, "more copies of libraries");
	map_and_attach(_metadata, self, "libjemalloc.a.so", 640, "more copies of libraries");
	unlink("libjemalloc.a.so");
}

/* MF_SHIMS_MAX and MF_ORPHANS_MAX in inject/target.h. */
TEST_F_TIMEOUT(attach, refuses_too_many_copies_and_sessions, SECONDS)
{
	map_and_attach(_metadata, self, "massif-shim", 64, NULL);
	map_and_attach(_metadata, self, "massif-shim", 65, "more copies of libraries");
	map_and_attach(_metadata, self, "massif-shim", 640, "more copies of libraries");
	map_and_attach(_metadata, self, "massif-session", 64, NULL);
	map_and_attach(_metadata, self, "massif-session", 65, "already profiled");
	map_and_attach(_metadata, self, "massif-session", 640, "already profiled");
}

/* BASES_MAX in inject/target.c: the file of the C library may be mapped elsewhere, too. */
TEST_F_TIMEOUT(attach, tells_a_library_from_its_file, SECONDS)
{
	expect_counted(_metadata, self, "reads-library");
	map_and_attach(_metadata, self, "libc.so.6", 15, NULL);
	map_and_attach(_metadata, self, "libc.so.6", 16, "more copies of libraries");
	map_and_attach(_metadata, self, "libc.so.6", 160, "more copies of libraries");
	unlink("libc.so.6");
}

TEST_F_TIMEOUT(attach, refuses_two_c_libraries, SECONDS)
{
	expect_unharmed(_metadata, self, "twice", "loaded the C library twice");
}

/* The command line of the process is printed. */
TEST_F_TIMEOUT(attach, prints_no_control_characters, SECONDS)
{
	char *text;

	start(_metadata, self, "attach", "work", "\033[31m\302\233red");
	attach(_metadata, self, NULL);
	detach(_metadata, self);
	text = ctl_read_file("a.err");
	ASSERT_NE(NULL, text);
	EXPECT_EQ(NULL, strchr(text, '\033'));
	EXPECT_EQ(NULL, strstr(text, "\302\233"));
	EXPECT_NE(NULL, strstr(text, "red"));
	free(text);
	expect_end(_metadata, self);
}

/* The stack of a thread is looked at up to 64 MiB (STACK_MAX in userland/ctl/inject/moment.c). */
TEST_F_TIMEOUT(attach, refuses_stacks_that_are_too_large, SECONDS)
{
	static const char *const mib[] = { "64", "640" };
	struct rlimit limit = { 1ul << 30, RLIM_INFINITY };
	pid_t workers[sizeof(mib) / sizeof(mib[0])];
	int status;

	ASSERT_EQ(0, setrlimit(RLIMIT_STACK, &limit));
	start(_metadata, self, "attach", "deep", "63");
	attach(_metadata, self, NULL);
	let_work(_metadata, self, 'a');
	detach(_metadata, self);
	expect_end(_metadata, self);
	unlink("a.out");
	/* massif-ctl waits for such a state for ten seconds, so both programs are attached to at the same time. */
	for (size_t i = 0; i < sizeof(mib) / sizeof(mib[0]); i++) {
		workers[i] = fork();
		ASSERT_LE(0, workers[i]);
		if (workers[i])
			continue;
		start(_metadata, self, "attach", "deep", mib[i]);
		expect_refusal(_metadata, self, "never in a state");
		let_work(_metadata, self, 'a');
		expect_end(_metadata, self);
		_exit(_metadata->passed ? 0 : 1);
	}
	for (size_t i = 0; i < sizeof(mib) / sizeof(mib[0]); i++) {
		ASSERT_EQ(workers[i], waitpid(workers[i], &status, 0));
		EXPECT_EQ(0, status) {
			TH_LOG("a stack of %s MiB", mib[i]);
		}
	}
}

TEST_F_TIMEOUT(attach, refuses_a_child_of_vfork, SECONDS)
{
	start(_metadata, self, "attach", "vfork", NULL);
	expect_refusal(_metadata, self, "shares its memory with its parent");
	snprintf(self->pid, sizeof(self->pid), "%d", (int)self->target);
	expect_refusal(_metadata, self, "does not stop");
	expect_end(_metadata, self);
}

TEST_F_TIMEOUT(attach, refuses_the_stopped_and_the_traced, SECONDS)
{
	int status;

	start(_metadata, self, "attach", NULL, NULL);
	kill(self->target, SIGSTOP);
	while (waitpid(self->target, &status, WUNTRACED) != self->target || !WIFSTOPPED(status))
		;
	expect_refusal(_metadata, self, "is stopped");
	kill(self->target, SIGCONT);
	ASSERT_EQ(0, ptrace(PTRACE_SEIZE, self->target, 0, 0));
	expect_refusal(_metadata, self, "is traced by process");
	ASSERT_EQ(0, ptrace(PTRACE_INTERRUPT, self->target, 0, 0));
	ASSERT_EQ(self->target, waitpid(self->target, &status, 0));
	ASSERT_EQ(0, ptrace(PTRACE_DETACH, self->target, 0, 0));
	let_work(_metadata, self, 'a');
	attach(_metadata, self, NULL);
	expect_refusal(_metadata, self, "already profiled");
	detach(_metadata, self);
	expect_end(_metadata, self);
}

static void become_nobody(void)
{
	if (setgid(NOBODY) || setuid(NOBODY) || chdir("/"))
		_exit(98);
}

TEST_F_TIMEOUT(attach, refuses_processes_of_others, SECONDS)
{
	CTL_NEEDS_USER(NOBODY);
	start(_metadata, self, "attach", NULL, NULL);
	ctl_run(&self->result, NULL, become_nobody,
		(const char *const[]){ "massif-ctl", "attach", "--heap", self->pid, "--massif-out-file=/dev/null", NULL });
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "ptrace_scope say who may")) {
		TH_LOG("%s", self->result.err);
	}
	let_work(_metadata, self, 'a');
	expect_end(_metadata, self);
}

/* Waits until the process's initial thread is in the system call @number. Returns whether it is. */
static bool await_call(const char *pid, long number)
{
	bool found = false;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/syscall", pid);
	for (int step = 0; step < STEPS && !found; step++) {
		char *text = ctl_read_file(path);

		found = text && strtol(text, NULL, 10) == number;
		free(text);
		pass_time();
	}
	return found;
}

/* The allocator waits, and so does dlopen() in the thread that is borrowed: massif-ctl gives up, and later it goes on. */
TEST_F_TIMEOUT(attach, gives_up_at_a_signal, SECONDS)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	int status = 0;
	char *text;

	start(_metadata, self, "attach_waits", NULL, NULL);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		let_work(_metadata, self, 'w');
		unlink("a.err");
		self->ctl = ctl_start(to_files, (const char *const[]){ "massif-ctl", "attach", "--heap", self->pid,
								       "--massif-out-file=a.out", NULL });
		/* The thread that is borrowed waits in the allocator, and massif-ctl waits for it. */
		EXPECT_TRUE(await_call(self->pid, SYS_clock_nanosleep));
		nanosleep(&(struct timespec){ .tv_sec = 2 }, NULL);
		EXPECT_EQ(0, waitpid(self->ctl, &status, WNOHANG));
		kill(self->ctl, signals[i]);
		ASSERT_EQ(self->ctl, waitpid(self->ctl, &status, 0));
		self->ctl = 0;
		EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
		text = ctl_read_file("a.err");
		ASSERT_NE(NULL, text);
		EXPECT_NE(NULL, strstr(text, "is still in a function of the dynamic linker")) {
			TH_LOG("%s", text);
		}
		free(text);
		let_work(_metadata, self, 'g');
		EXPECT_TRUE(await_call(self->pid, SYS_pause));
		let_work(_metadata, self, 'a');
	}
	attach(_metadata, self, NULL);
	let_work(_metadata, self, 'b');
	detach(_metadata, self);
	EXPECT_EQ(2000, allocations(self));
	let_work(_metadata, self, 'c');
	expect_end(_metadata, self);
}

/* The program ends at any moment of the attach: with the status that it would have had. */
TEST_F_TIMEOUT(attach, while_the_program_ends, SECONDS)
{
	for (unsigned int i = 0; i < 60; i++) {
		pid_t ctl;
		int status;

		start(_metadata, self, "attach", NULL, NULL);
		ctl = ctl_start(to_files, (const char *const[]){ "massif-ctl", "attach", "--heap", self->pid,
								 "--massif-out-file=a.out", NULL });
		nanosleep(&(struct timespec){ .tv_nsec = (long)i * 400000 }, NULL);
		expect_end(_metadata, self);
		ASSERT_EQ(ctl, waitpid(ctl, &status, 0));
		EXPECT_TRUE(WIFEXITED(status));
	}
}

TEST_HARNESS_MAIN
