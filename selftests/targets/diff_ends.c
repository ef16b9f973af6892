// SPDX-License-Identifier: GPL-2.0
// diff_ends WAY [NUMBER]: allocates, then ends in one of the ways in which a process can end.

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile seen;
static const char *own_path;
static int number;

static void see(void *block)
{
	seen = block;
}

/* Makes the same allocations before every kind of end, so that the results can be compared. */
static void begin(void)
{
	for (size_t i = 1; i <= 12; i++) {
		see(malloc(i * 400));
		if (i % 3 == 0)
			free(seen);
	}
}

/* Ways in which the process terminates of its own accord. */

static int end_return(void)
{
	see(malloc(100));
	return number;
}

static int end_exit(void)
{
	see(malloc(100));
	exit(number);
}

static int end_exit_now(void)
{
	see(malloc(100));
	_exit(number);
}

static int end_exit_group(void)
{
	see(malloc(100));
	syscall(SYS_exit_group, number);
	return 99;
}

static void at_quick_exit_allocate(void)
{
	see(malloc(700));
}

static int end_quick_exit(void)
{
	at_quick_exit(at_quick_exit_allocate);
	see(malloc(100));
	quick_exit(number);
}

static void exit_again(void)
{
	see(malloc(900));
	exit(number);
}

static int end_exit_twice(void)
{
	atexit(exit_again);
	see(malloc(100));
	exit(98);
}

static void on_exit_allocate(int status, void *data)
{
	see(malloc((size_t)(1000 + status)));
	free(data);
}

static int end_exit_handlers(void)
{
	atexit(at_quick_exit_allocate);
	on_exit(on_exit_allocate, malloc(500));
	atexit(at_quick_exit_allocate);
	exit(number);
}

static const char *way;

/* Runs after destructor_before(), which has a higher priority number. Destructors of libraries run even later. */
__attribute__((destructor(200))) static void destructor(void)
{
	if (way && strcmp(way, "destructors") == 0)
		see(malloc(1700));
}

__attribute__((destructor(300))) static void destructor_before(void)
{
	if (way && strcmp(way, "destructors") == 0) {
		free(seen);
		see(strdup("late, but not last"));
	}
}

static int end_destructors(void)
{
	see(malloc(100));
	return number;
}

/* Ways to be killed by a signal, or to survive one. */

static int end_signal(void)
{
	if (kill(getpid(), number))
		return 99;
	return 98;
}

static int end_alarm(void)
{
	const struct itimerval timer = { .it_value = { .tv_usec = 20000 } };

	setitimer(ITIMER_REAL, &timer, NULL);
	pause();
	return 99;
}

static int end_pipe(void)
{
	int ends[2];

	if (pipe(ends) || close(ends[0]))
		return 99;
	see(malloc(100));
	return write(ends[1], "x", 1) == 1 ? 98 : 97;
}

static int end_abort(void)
{
	see(malloc(100));
	abort();
}

static int end_assert(void)
{
	see(malloc(100));
	assert(number == INT_MAX);
	return 99;
}

static void handle_allocate(int signal)
{
	see(malloc(600));
}

/* abort() ends the process even if the handler returns. */
static int end_abort_handled(void)
{
	signal(SIGABRT, handle_allocate);
	see(malloc(100));
	abort();
}

static jmp_buf before;

static void handle_leave(int signal)
{
	see(malloc(600));
	longjmp(before, 1);
}

static int end_abort_left(void)
{
	signal(SIGABRT, handle_leave);
	if (!setjmp(before))
		abort();
	see(malloc(100));
	return number;
}

static void handle_exit(int signal)
{
	see(malloc(600));
	exit(number);
}

static int end_exit_in_handler(void)
{
	signal(SIGUSR1, handle_exit);
	see(malloc(100));
	raise(SIGUSR1);
	return 99;
}

static void handle_exit_now(int signal)
{
	see(malloc(600));
	_exit(number);
}

static int end_exit_now_in_handler(void)
{
	signal(SIGSEGV, handle_exit_now);
	/*
	 * Keep these two expressions on one line: Valgrind shows the source line of the instruction that precedes the
	 * faulting one.
	 */
	return see(malloc(100)), *(volatile int *)16;
}

static int end_segv(void)
{
	see(malloc(100));
	return *(volatile int *)16;
}

static int end_fpe(void)
{
	volatile int zero = 0;

	see(malloc(100));
	return number / zero;
}

static int end_ill(void)
{
	see(malloc(100));
	__builtin_trap();
}

/* Reads a mapped page of a file that has been truncated, which raises SIGBUS. */
static int end_bus(void)
{
	int file = memfd_create("short", 0);
	volatile char *byte;

	if (file < 0 || ftruncate(file, 4096))
		return 99;
	byte = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
	if (byte == MAP_FAILED || ftruncate(file, 0))
		return 98;
	return *byte;
}

static __attribute__((noinline)) int recurse(volatile char *above)
{
	volatile char frame[2000];

	frame[0] = above[0];
	return frame[0] ? 0 : recurse(frame) + frame[0];
}

static int end_stack_overflow(void)
{
	volatile char frame[1] = { 0 };

	see(malloc(100));
	return recurse(frame);
}

static int end_stack_overflow_handled(void)
{
	static char stack[65536];
	const stack_t own = { .ss_sp = stack, .ss_size = sizeof(stack) };
	const struct sigaction action = { .sa_handler = handle_exit_now, .sa_flags = SA_ONSTACK };
	volatile char frame[1] = { 0 };

	sigaltstack(&own, NULL);
	sigaction(SIGSEGV, &action, NULL);
	see(malloc(100));
	return recurse(frame);
}

/* The process is killed by another process: a shell that is not profiled. */
static int end_killed(void)
{
	char command[64];
	char *const argv[] = { "sh", "-c", command, NULL };
	pid_t pid;

	snprintf(command, sizeof(command), "kill -%d %d", number, (int)getpid());
	pid = vfork();
	if (pid == 0) {
		execv("/bin/sh", argv);
		_exit(99);
	}
	pause();
	return 99;
}

/* Ways in which a multithreaded program can end. */

static void run_thread(void *(*run)(void *), void *data)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, data))
		_exit(97);
	pthread_join(thread, NULL);
	_exit(96);
}

static void *exit_in_thread(void *data)
{
	see(malloc(800));
	exit(number);
}

static int end_exit_in_thread(void)
{
	run_thread(exit_in_thread, NULL);
	return 99;
}

static void *exit_now_in_thread(void *data)
{
	see(malloc(800));
	_exit(number);
}

static int end_exit_now_in_thread(void)
{
	run_thread(exit_now_in_thread, NULL);
	return 99;
}

static void *abort_in_thread(void *data)
{
	see(malloc(800));
	abort();
}

static int end_abort_in_thread(void)
{
	run_thread(abort_in_thread, NULL);
	return 99;
}

static void *segv_in_thread(void *data)
{
	see(malloc(800));
	return (void *)(size_t)(*(volatile int *)16);
}

static int end_segv_in_thread(void)
{
	run_thread(segv_in_thread, NULL);
	return 99;
}

static void *signal_in_thread(void *data)
{
	see(malloc(800));
	pthread_kill(pthread_self(), number);
	return NULL;
}

static int end_signal_in_thread(void)
{
	run_thread(signal_in_thread, NULL);
	return 99;
}

static pthread_t main_thread;

/* Runs after the main thread has ended. The end of this last thread ends the process. */
static void *go_on(void *data)
{
	pthread_join(main_thread, NULL);
	see(malloc(800));
	see(malloc(1600));
	free(seen);
	if (number)
		exit(number);
	return NULL;
}

static int end_main_thread_first(void)
{
	pthread_t thread;

	main_thread = pthread_self();
	if (pthread_create(&thread, NULL, go_on, NULL))
		return 97;
	see(malloc(100));
	pthread_exit(NULL);
}

static void *churn(void *data)
{
	void *mine[32] = { NULL };

	for (unsigned int i = (unsigned int)(size_t)data;; i++) {
		void **block = &mine[i * 7 % 32];

		if (i % 3) {
			*block = realloc(*block, i * 13 % 3000 + 1);
		} else {
			free(*block);
			*block = NULL;
		}
	}
	return NULL;
}

static int end_among_threads(void)
{
	pthread_t thread;

	for (size_t i = 0; i < 4; i++)
		if (pthread_create(&thread, NULL, churn, (void *)i))
			return 97;
	usleep(100000);
	switch (number) {
	case 1:
		_exit(1);
	case 2:
		abort();
	case 3:
		kill(getpid(), SIGKILL);
	}
	return 0;
}

/* Ways to execute another program. */

static int end_exec(void)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", number);
	see(malloc(5000));
	execl(own_path, own_path, "exit", text, NULL);
	return 99;
}

static int end_exec_fails(void)
{
	see(malloc(5000));
	execl("/nonexistent/program", "program", NULL);
	see(malloc(100));
	return errno == ENOENT ? number : 99;
}

/* Ways in which the program can end after it has changed its working directory. */
static int end_elsewhere(void)
{
	if (chdir("/"))
		return 99;
	see(malloc(100));
	return number;
}

static int end_elsewhere_forked(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (chdir("/"))
			_exit(99);
		see(malloc(3000));
		_exit(number);
	}
	/* Wait for the child, so that this process is the last to write the profile. */
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 98;
	see(malloc(100));
	return WEXITSTATUS(status);
}

static const struct {
	const char *name;
	int (*run)(void);
} ways[] = {
	{ "return", end_return },
	{ "exit", end_exit },
	{ "exit_now", end_exit_now },
	{ "exit_group", end_exit_group },
	{ "quick_exit", end_quick_exit },
	{ "exit_twice", end_exit_twice },
	{ "exit_handlers", end_exit_handlers },
	{ "destructors", end_destructors },
	{ "signal", end_signal },
	{ "alarm", end_alarm },
	{ "pipe", end_pipe },
	{ "abort", end_abort },
	{ "assert", end_assert },
	{ "abort_handled", end_abort_handled },
	{ "abort_left", end_abort_left },
	{ "exit_in_handler", end_exit_in_handler },
	{ "exit_now_in_handler", end_exit_now_in_handler },
	{ "segv", end_segv },
	{ "fpe", end_fpe },
	{ "ill", end_ill },
	{ "bus", end_bus },
	{ "stack_overflow", end_stack_overflow },
	{ "stack_overflow_handled", end_stack_overflow_handled },
	{ "killed", end_killed },
	{ "exit_in_thread", end_exit_in_thread },
	{ "exit_now_in_thread", end_exit_now_in_thread },
	{ "abort_in_thread", end_abort_in_thread },
	{ "segv_in_thread", end_segv_in_thread },
	{ "signal_in_thread", end_signal_in_thread },
	{ "main_thread_first", end_main_thread_first },
	{ "among_threads", end_among_threads },
	{ "exec", end_exec },
	{ "exec_fails", end_exec_fails },
	{ "elsewhere", end_elsewhere },
	{ "elsewhere_forked", end_elsewhere_forked },
};

int main(int argc, char **argv)
{
	const struct rlimit no_core = { 0, 0 };

	if (argc < 2)
		return 2;
	own_path = argv[0];
	way = argv[1];
	number = argc > 2 ? atoi(argv[2]) : 0;
	setrlimit(RLIMIT_CORE, &no_core);
	begin();
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(way, ways[i].name) == 0)
			return ways[i].run();
	return 2;
}
