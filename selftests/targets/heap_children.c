// SPDX-License-Identifier: GPL-2.0
// heap_children WAY [PROGRAM [ARGUMENT]...]: allocates, and creates a process or executes a program in one of many
// ways. Exits with the status of that process.

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static char *own_path;
static void *blocks[64];
static int n_blocks;

static void grow(int n, size_t size)
{
	while (n--)
		blocks[n_blocks++] = malloc(size);
}

static void shrink(int n)
{
	while (n-- && n_blocks)
		free(blocks[--n_blocks]);
}

static int wait_for(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 90;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int leaf(char **argv)
{
	grow(20, 100);
	shrink(5);
	grow(3, 4000);
	return 7;
}

static int exec_over(char **argv)
{
	execv(argv[0], argv);
	return 91;
}

static int fork_exec(char **argv)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(exec_over(argv));
	grow(4, 300);
	return wait_for(pid);
}

/* Closes all descriptors before the exec, like daemons and Python's subprocess. */
static int close_exec(char **argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		for (int fd = 3; fd < 2000; fd++)
			close(fd);
		_exit(exec_over(argv));
	}
	return wait_for(pid);
}

static int vfork_exec(char **argv)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execv(argv[0], argv);
		_exit(91);
	}
	grow(4, 300);
	return wait_for(pid);
}

static int spawn(char **argv)
{
	pid_t pid;

	if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ))
		return 92;
	grow(4, 300);
	return wait_for(pid);
}

/* Executes this program again; the new instance in turn executes another program. */
static int chain(char **argv)
{
	char *again[] = { own_path, "exec", argv[0], "leaf", NULL };
	pid_t pid = fork();

	if (pid == 0)
		_exit(exec_over(again));
	return wait_for(pid);
}

/*
 * An environment without massif's variables. Its second string, bare[1], is filled in with a definition of the variable
 * SIDE, whose value becomes part of the profile's name.
 */
static char *bare[] = { "A=b", NULL, NULL };

static int spawn_bare(char **argv)
{
	pid_t pid;

	if (posix_spawn(&pid, argv[0], NULL, NULL, argv, bare))
		return 92;
	grow(4, 300);
	return wait_for(pid);
}

static int spawnp_bare(char **argv)
{
	pid_t pid;

	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, bare))
		return 92;
	return wait_for(pid);
}

static int exec_at(char **argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		execveat(AT_FDCWD, argv[0], argv, bare, 0);
		_exit(91);
	}
	return wait_for(pid);
}

static int exec_at_descriptor(char **argv)
{
	int fd = open(argv[0], O_PATH | O_CLOEXEC);
	pid_t pid = fork();

	if (pid == 0) {
		execveat(fd, "", argv, bare, AT_EMPTY_PATH);
		_exit(91);
	}
	return wait_for(pid);
}

static int exec_number(char **argv)
{
	pid_t pid = vfork();

	if (pid == 0) {
		syscall(SYS_execve, argv[0], argv, bare);
		_exit(91);
	}
	return wait_for(pid);
}

static int exec_at_number(char **argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		syscall(SYS_execveat, AT_FDCWD, argv[0], argv, bare, 0);
		_exit(91);
	}
	return wait_for(pid);
}

static int cleared(char **argv)
{
	clearenv();
	putenv(bare[1]);
	return fork_exec(argv);
}

/* Executes the program in another directory. */
static int elsewhere(char **argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (chdir("c.sub"))
			_exit(92);
		_exit(exec_over(argv));
	}
	return wait_for(pid);
}

static int killed(char **argv)
{
	pid_t pid;
	int ends[2];
	char ready;

	if (pipe(ends))
		return 93;
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		_exit(exec_over(argv));
	}
	if (read(ends[0], &ready, 1) != 1)
		return 94;
	kill(pid, SIGKILL);
	return wait_for(pid);
}

/* Returns how long @argv runs, in nanoseconds; 0 if it could not be run. */
static long duration_ns(char **argv)
{
	struct timespec from, to;
	pid_t pid;

	clock_gettime(CLOCK_MONOTONIC, &from);
	if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ))
		return 0;
	wait_for(pid);
	clock_gettime(CLOCK_MONOTONIC, &to);
	return (to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec;
}

/*
 * Many children execute argv[0] and are killed after increasingly long delays, most of them before they have allocated
 * anything.
 */
static int killed_early(char **argv)
{
	long whole = duration_ns(argv);

	for (long i = 0; whole > 0 && i < 200; i++) {
		/* From no time to twice what a child takes that is not killed. */
		const long ns = whole / 100 * i;
		const struct timespec delay = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
		pid_t pid;

		if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ))
			return 93;
		nanosleep(&delay, NULL);
		kill(pid, SIGKILL);
		wait_for(pid);
	}
	return whole > 0 ? 7 : 93;
}

/* A child with a profile of its own is killed by the signal in $CHILD_SIGNAL. */
static int killed_child(char **argv)
{
	const char *number = getenv("CHILD_SIGNAL");
	int ends[2];
	char ready;
	pid_t pid;

	if (!number || pipe(ends))
		return 93;
	pid = fork();
	if (pid == 0) {
		shrink(5);
		grow(9, 700);
		if (write(ends[1], "x", 1) == 1)
			pause();
		_exit(95);
	}
	if (read(ends[0], &ready, 1) != 1 || kill(pid, atoi(number)))
		return 94;
	if (wait_for(pid) != 128 + atoi(number))
		return 96;
	grow(4, 300);
	return 7;
}

/* Reports on standard output that the program is ready, and waits for a signal. */
static int stay(char **argv)
{
	grow(10, 1000);
	alarm(20);
	if (write(STDOUT_FILENO, "\n", 1) == 1)
		pause();
	return 95;
}

/* The parent and its forked child both go on using the blocks that the parent had allocated. */
static int forked(char **argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		shrink(5);
		grow(9, 700);
		_exit(3);
	}
	/* Run the child first and then the parent, so that it is known which of them writes the file last. */
	if (wait_for(pid) != 3)
		return 94;
	grow(4, 300);
	shrink(1);
	return 7;
}

/* Creates a grandchild, and also a child whose exec fails. */
static int forked_twice(char **argv)
{
	pid_t pid = fork(), inner;

	if (pid == 0) {
		grow(2, 700);
		inner = fork();
		if (inner == 0) {
			char *none[] = { "/nonexistent/program", NULL };

			grow(3, 900);
			_exit(exec_over(none) == 91 ? 4 : 5);
		}
		_exit(wait_for(inner) == 4 ? 3 : 6);
	}
	return wait_for(pid);
}

static struct waiting {
	pid_t pid;
	int word[2];
} children[4];

/*
 * Forks a child that waits for a byte from the parent and then calls @then. The parent may change its own heap before
 * it sends the byte. This function does not allocate memory itself.
 */
static struct waiting *fork_waiting(void (*then)(void))
{
	static int n;
	struct waiting *child = &children[n++];
	char letter;

	if (pipe(child->word))
		_exit(93);
	child->pid = fork();
	if (child->pid)
		return child;
	if (read(child->word[0], &letter, 1) != 1)
		_exit(96);
	then();
	_exit(3);
}

static int say(const struct waiting *child)
{
	if (write(child->word[1], "x", 1) != 1)
		return 94;
	return wait_for(child->pid);
}

static void nothing(void)
{
}

static void change(void)
{
	shrink(3);
	grow(5, 700);
}

/* After the fork, the parent allocates before its child does. */
static int late(char **argv)
{
	struct waiting *child = fork_waiting(change);

	shrink(2);
	grow(6, 300);
	return say(child);
}

/* Creates several children, some of which never allocate. */
static int late_ones(char **argv)
{
	static void (*const deeds[])(void) = { change, nothing, change, nothing };
	int bad = 0;

	for (int i = 0; i < 4; i++) {
		if (i == 2)
			grow(3, 900);
		fork_waiting(deeds[i]);
	}
	/* This child continues before the parent allocates. */
	bad |= say(&children[3]) != 3;
	grow(2, 1100);
	for (int i = 0; i < 3; i++)
		bad |= say(&children[i]) != 3;
	return bad ? 94 : 7;
}

/* Runs in a child. Closes all descriptors except the standard ones. */
static void close_and_change(void)
{
	for (int fd = 3; fd < 2000; fd++)
		close(fd);
	change();
}

static int late_closed(char **argv)
{
	struct waiting *child = fork_waiting(close_and_change);

	grow(6, 300);
	return say(child);
}

static pid_t middle;

/* Allocates after its parent has ended. */
static void wait_and_change(void)
{
	while (getppid() == middle)
		usleep(1000);
	change();
}

static int orphan(char **argv)
{
	int status;
	pid_t pid;

	if (prctl(PR_SET_CHILD_SUBREAPER, 1))
		return 93;
	pid = fork();
	if (pid == 0) {
		grow(2, 700);
		middle = getpid();
		fork_waiting(wait_and_change);
		_exit(write(children[0].word[1], "x", 1) == 1 ? 3 : 4);
	}
	if (wait_for(pid) != 3 || wait(&status) < 0)
		return 94;
	return WEXITSTATUS(status) == 3 ? 7 : 95;
}

/* A grandchild allocates, but its parent, the child, never does. */
static int between(char **argv)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(say(fork_waiting(change)));
	grow(2, 700);
	return wait_for(pid);
}

static void *change_in_thread(void *data)
{
	change();
	return NULL;
}

static int run_thread(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, change_in_thread, NULL) || pthread_join(thread, NULL);
}

/* In the child, a new thread is the first to allocate. */
static int late_thread(char **argv)
{
	pid_t pid;

	if (run_thread())
		return 93;
	pid = fork();
	if (pid == 0) {
		int bad = run_thread();

		grow(2, 900);
		_exit(bad ? 4 : 3);
	}
	return wait_for(pid);
}

/* Creates two children that stay idle and never allocate. Reports when both exist, then allocates and reports again. */
static int idle(char **argv)
{
	fork_waiting(nothing);
	fork_waiting(nothing);
	if (write(STDOUT_FILENO, "x", 1) != 1)
		return 94;
	alarm(20);
	if (read(STDIN_FILENO, &(char){ 0 }, 1) != 1)
		return 95;
	grow(1, 700);
	if (write(STDOUT_FILENO, "y", 1) != 1 || read(STDIN_FILENO, &(char){ 0 }, 1) != 1)
		return 96;
	return say(&children[0]) == 3 && say(&children[1]) == 3 ? 7 : 97;
}

#define MANY 40

/*
 * Creates many children that have profiles at the same time. argv[0], the program's second argument, is the limit on
 * open descriptors that the test expects to be in effect.
 */
static int many(char **argv)
{
	int word[2], ready[2], bad = 0, status;
	struct rlimit limit;
	char letters[MANY];

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur != (rlim_t)atoi(argv[0]))
		return 98;
	if (pipe(word) || pipe(ready))
		return 93;
	for (int i = 0; i < MANY; i++) {
		if (fork())
			continue;
		grow(3, 200);
		close(word[1]);
		if (write(ready[1], "x", 1) != 1)
			_exit(4);
		_exit(read(word[0], letters, 1) == 0 ? 3 : 5);
	}
	for (int i = 0; i < MANY; i++)
		bad |= read(ready[0], letters, 1) != 1;
	close(word[1]);
	for (int i = 0; i < MANY; i++)
		bad |= wait(&status) < 0 || WEXITSTATUS(status) != 3;
	return bad ? 94 : 7;
}

#define CHURNERS 4

static volatile int done;

/* Allocates, resizes and frees blocks in every possible way. */
static void *churn(void *data)
{
	unsigned int random = (unsigned int)(size_t)data * 2654435761u + 1;
	void *mine[64] = { NULL };

	while (!done) {
		void **block = &mine[(random = random * 1103515245u + 12345) >> 8 & 63];

		/* Gives massif-ctl time to write files. */
		if (!(random >> 12 & 511))
			usleep(300);
		if (random >> 29) {
			*block = realloc(*block, 1 + (random >> 16));
		} else {
			free(*block);
			*block = NULL;
		}
	}
	for (int i = 0; i < 64; i++)
		free(mine[i]);
	return NULL;
}

/* heap_children fork_threads N: forks while threads allocate; the children allocate, too. */
static int fork_threads(char **argv)
{
	int n = atoi(argv[0]), bad = 0;
	pthread_t threads[CHURNERS];

	for (long i = 0; i < CHURNERS; i++)
		pthread_create(&threads[i], NULL, churn, (void *)(i + 1));
	while (n--) {
		pid_t pid = fork();

		if (pid == 0) {
			for (int i = 0; i < 40; i++)
				blocks[i] = realloc(i ? blocks[i - 1] : NULL, 100u * (unsigned int)i + 1);
			/* The last event is so large that it causes a snapshot. */
			blocks[0] = malloc(1u << 30);
			_exit(0);
		}
		bad |= wait_for(pid);
	}
	done = 1;
	for (int i = 0; i < CHURNERS; i++)
		pthread_join(threads[i], NULL);
	blocks[0] = malloc(1u << 30);
	return bad;
}

/* Returns the last @n bytes of a page. The page after it is inaccessible. */
static char *last_bytes(size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE))
		_exit(92);
	return pages + page - n;
}

static void tell_result(const char *what, int error)
{
	printf("%s: %s\n", what, strerror(error));
}

/*
 * Calls exec functions and posix_spawn with a path, arguments or an environment that the kernel cannot read, and then
 * with a path and an environment that end at the last readable byte.
 */
static int misused(char **argv)
{
	char *volatile no_path = NULL;
	char *nowhere = last_bytes(0), *endless = last_bytes(3);
	char *bad_word[] = { "A=b", nowhere, NULL }, *endless_word[] = { endless, NULL };
	char **endless_words = (char **)(void *)last_bytes(sizeof(char *));
	char *const *const bad[] = { (char **)(void *)nowhere, (char *const *)8, bad_word, endless_word,
				     endless_words };
	char *edge_word = last_bytes(sizeof("EDGE=1")), *edge_path = last_bytes(strlen(argv[0]) + 1);
	char **edge_words = (char **)(void *)last_bytes(2 * sizeof(char *));
	int fd = open(argv[0], O_RDONLY | O_CLOEXEC);

	memcpy(endless, "A=b", 3);
	endless_words[0] = "A=b";
	tell_result("no path", execve(no_path, argv, environ) ? errno : 0);
	tell_result("bad path", execve(nowhere, argv, environ) ? errno : 0);
	tell_result("endless path", execv(endless, argv) ? errno : 0);
	tell_result("bad path at", execveat(AT_FDCWD, nowhere, argv, environ, 0) ? errno : 0);
	tell_result("bad path by number", syscall(SYS_execve, nowhere, argv, environ) ? errno : 0);
	tell_result("bad path spawned", posix_spawn(NULL, nowhere, NULL, NULL, argv, environ));
	tell_result("bad arguments", execve(argv[0], (char **)(void *)nowhere, environ) ? errno : 0);
	tell_result("descriptor without environment", fexecve(fd, argv, NULL) ? errno : 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		tell_result("bad environment", execve(argv[0], argv, bad[i]) ? errno : 0);
		tell_result("with a name", execvpe(argv[0], argv, bad[i]) ? errno : 0);
		tell_result("at", execveat(AT_FDCWD, argv[0], argv, bad[i], 0) ? errno : 0);
		tell_result("by descriptor", fexecve(fd, argv, bad[i]) ? errno : 0);
		tell_result("by number", syscall(SYS_execve, argv[0], argv, bad[i]) ? errno : 0);
		tell_result("spawned", posix_spawn(NULL, argv[0], NULL, NULL, argv, bad[i]));
	}
	fflush(stdout);
	strcpy(edge_word, "EDGE=1");
	edge_words[0] = edge_word;
	edge_words[1] = NULL;
	strcpy(edge_path, argv[0]);
	execve(edge_path, argv, edge_words);
	return 91;
}

static const struct {
	const char *name;
	int (*run)(char **argv);
} ways[] = {
	{ "leaf", leaf },
	{ "exec", exec_over },
	{ "fork_exec", fork_exec },
	{ "close_exec", close_exec },
	{ "vfork_exec", vfork_exec },
	{ "spawn", spawn },
	{ "chain", chain },
	{ "spawn_bare", spawn_bare },
	{ "spawnp_bare", spawnp_bare },
	{ "exec_at", exec_at },
	{ "exec_at_descriptor", exec_at_descriptor },
	{ "exec_number", exec_number },
	{ "exec_at_number", exec_at_number },
	{ "misused", misused },
	{ "cleared", cleared },
	{ "elsewhere", elsewhere },
	{ "killed", killed },
	{ "killed_early", killed_early },
	{ "killed_child", killed_child },
	{ "forked", forked },
	{ "forked_twice", forked_twice },
	{ "late", late },
	{ "late_ones", late_ones },
	{ "late_closed", late_closed },
	{ "orphan", orphan },
	{ "between", between },
	{ "late_thread", late_thread },
	{ "idle", idle },
	{ "fork_threads", fork_threads },
	{ "many", many },
	{ "stay", stay },
};

int main(int argc, char **argv)
{
	own_path = argv[0];
	if (getenv("SIDE"))
		bare[1] = getenv("SIDE") - strlen("SIDE=");
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(ways[i].name, argv[1]) == 0) {
			if (ways[i].run != leaf && ways[i].run != stay)
				grow(8, 500);
			return ways[i].run(argv + 2);
		}
	}
	return 99;
}
