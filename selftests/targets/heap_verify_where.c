// SPDX-License-Identifier: GPL-2.0
// heap_verify_where MODE: allocates in situations in which verifying stacks with libunwind could cause harm:
//
//	"timer": in the thread of a timer (SIGEV_THREAD)
//	"small": on the smallest stacks that a thread can have
//	"sandbox": where only the system calls that malloc needs are permitted
//	"recursive": in functions that call each other in cycles of different lengths
//	"closed": with no descriptors other than its own, which it checks
//	"none": where no further descriptors can be opened
//	"name_space": in a library loaded with dlmopen(3), for which libunwind knows no rules

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TIMES 200

static void *volatile kept;
static sem_t ticked;

static __attribute__((noinline)) void allocate(int n)
{
	void *block = malloc(100 + (size_t)n);

	/* Several timer threads may run this at once and overwrite the global `kept`, so free the local `block`. */
	kept = block;
	free(block);
}

static void on_tick(union sigval value)
{
	for (int i = 0; i < TIMES; i++)
		allocate(i);
	sem_post(&ticked);
}

static int timer(void)
{
	const struct itimerspec soon = { .it_value.tv_nsec = 1000000, .it_interval.tv_nsec = 1000000 };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_tick };
	timer_t id;

	sem_init(&ticked, 0, 0);
	if (timer_create(CLOCK_MONOTONIC, &event, &id) || timer_settime(id, 0, &soon, NULL))
		return 1;
	for (int i = 0; i < 10; i++)
		while (sem_wait(&ticked) && errno == EINTR)
			;
	return timer_delete(id);
}

static void *allocate_in_thread(void *data)
{
	for (int i = 0; i < TIMES; i++)
		allocate(i);
	return data;
}

static int small(void)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	if (pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN)))
		return 1;
	for (int i = 0; i < 10; i++) {
		pthread_t thread;

		if (pthread_create(&thread, &attributes, allocate_in_thread, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	return 0;
}

#define ALLOW(number)                                                     \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),              \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int sandbox(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_mmap),   ALLOW(SYS_munmap), ALLOW(SYS_mremap),
		ALLOW(SYS_brk),	   ALLOW(SYS_futex),  ALLOW(SYS_mprotect),
		ALLOW(SYS_madvise), ALLOW(SYS_write), ALLOW(SYS_exit_group),
		ALLOW(SYS_exit),   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	const struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	for (int i = 0; i < TIMES; i++)
		allocate(i);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
		return 1;
	for (int i = 0; i < TIMES; i++)
		allocate(i);
	return 0;
}

static void odd(int depth);

static __attribute__((noinline)) void even(int depth)
{
	allocate(depth);
	if (depth)
		odd(depth - 1);
	allocate(depth);
}

static __attribute__((noinline)) void odd(int depth)
{
	allocate(depth);
	if (depth % 3)
		odd(depth - 1);
	else if (depth)
		even(depth - 1);
	allocate(depth);
}

static int recursive(void)
{
	for (int depth = 0; depth < 60; depth++)
		even(depth);
	return 0;
}

#define OPENED 16
#define FIRST  3

/*
 * Opens pipes at all descriptor numbers that the shim might use, and checks that nothing reads from them or writes to
 * them.
 */
static int closed(void)
{
	int ends[2], waiting;

	allocate(0);
	for (int fd = FIRST; fd < FIRST + OPENED; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			continue;
		/* A test runner may have left descriptors open. The program has inherited those without FD_CLOEXEC. */
		if (fcntl(fd, F_GETFD) & FD_CLOEXEC)
			return 1;
		close(fd);
	}
	for (int fd = FIRST; fd < FIRST + OPENED; fd += 2) {
		if (pipe2(ends, O_NONBLOCK) || ends[0] != fd || write(ends[1], "text", 4) != 4)
			return 1;
	}
	for (int i = 0; i < TIMES; i++)
		allocate(i);
	for (int fd = FIRST; fd < FIRST + OPENED; fd += 2) {
		if (ioctl(fd, FIONREAD, &waiting) || waiting != 4)
			return 1;
	}
	return 0;
}

static int none(void)
{
	const struct rlimit few = { FIRST + 1, FIRST + 1 };

	if (setrlimit(RLIMIT_NOFILE, &few))
		return 1;
	while (open("/dev/null", O_RDONLY) >= 0)
		;
	for (int i = 0; i < TIMES; i++)
		allocate(i);
	return 0;
}

static int (*touch)(void);

static void *touch_in_thread(void *data)
{
	return touch() == 1 ? data : NULL;
}

static int name_space(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	void *handle, *ended;
	pthread_t thread;

	if (n < 0)
		return 1;
	path[n] = '\0';
	strcpy(strrchr(path, '/') + 1, "libheap_name_space.so");
	handle = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
	if (!handle)
		return 1;
	touch = (int (*)(void))dlsym(handle, "heap_name_space_touch");
	for (int i = 0; i < 10; i++) {
		if (pthread_create(&thread, NULL, touch_in_thread, path) || pthread_join(thread, &ended) || !ended)
			return 1;
	}
	for (int i = 0; i < TIMES; i++)
		allocate(i);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*function)(void);
	} modes[] = { { "timer", timer },	  { "small", small },	{ "sandbox", sandbox },
		      { "recursive", recursive }, { "closed", closed }, { "none", none },
		      { "name_space", name_space } };

	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i].name))
			return modes[i].function();
	return 2;
}
