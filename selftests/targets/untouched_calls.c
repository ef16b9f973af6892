// SPDX-License-Identifier: GPL-2.0
// untouched_calls WHAT: uses seccomp to restrict itself to the system calls that its malloc makes, and then allocates.
// Any other call kills it.
//
//	alone	 a single thread
//	threads	 eight threads; the system calls that pthread_create makes are permitted, too
//	crowd	 three hundred threads
//	load	 dlopen and dlclose; the dynamic linker's system calls are permitted, too
//	fork	 children that allocate; the system calls that fork and wait make are permitted, too
//	exec	 executes itself; the system calls that a program needs to start are permitted, too
//	fork_limited, exec_limited	 with limits on address space and data: children, and an exec that fails
//	limits	 reads and sets limits
//	lock	 mlockall
//	vfork	 does not restrict itself, but a child that shares its memory, and forks another one that allocates
//	waits_kill, waits_fail	 futex(2) kills the program, or fails
//	strict	 seccomp's strict mode, in which malloc has only the memory that it already has

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEPT = 2000, THREADS = 8, CROWD = 300, CALLS_MAX = 40 };

/*
 * System calls that are always permitted (those of malloc and exit), and additional ones for particular values of WHAT.
 */
static const int of_malloc[] = { SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise,
				 SYS_write, SYS_exit, SYS_exit_group, -1 };
static const int of_threads[] = { SYS_clone3, SYS_clone, SYS_set_robust_list, SYS_rseq, SYS_rt_sigprocmask,
				  SYS_rt_sigaction, -1 };
static const int of_load[] = { SYS_openat, SYS_read, SYS_pread64, SYS_newfstatat, SYS_close, -1 };
static const int of_fork[] = { SYS_clone, SYS_set_robust_list, SYS_wait4, -1 };

/* Without the system calls that malloc makes only for large blocks. */
static const int of_small_malloc[] = { SYS_brk, SYS_mmap, SYS_write, SYS_exit, SYS_exit_group, -1 };
static const int of_limits[] = { SYS_prlimit64, -1 };
static const int of_lock[] = { SYS_mlockall, -1 };

static const int of_exec[] = { SYS_execve, SYS_access, SYS_openat, SYS_read, SYS_pread64, SYS_newfstatat,
			       SYS_close, SYS_arch_prctl, SYS_set_tid_address, SYS_set_robust_list, SYS_rseq,
			       SYS_prlimit64, SYS_getrandom, -1 };

static unsigned int add(struct sock_filter *filter, unsigned int n, const int *calls)
{
	for (; *calls >= 0; calls++) {
		filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)*calls, 0, 1);
		filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	return n;
}

/* The action of the seccomp filter for futex(2), and the system calls that are always permitted. */
static unsigned int waits = SECCOMP_RET_ALLOW;
static const int *always = of_malloc;

static void restrict_calls(const int *more)
{
	struct sock_filter filter[2 * CALLS_MAX + 4];
	struct sock_fprog program = { .filter = filter };
	unsigned int n = 0;

	filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 1);
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, waits);
	n = add(filter, n, always);
	n = add(filter, n, more);
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	program.len = (unsigned short)n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("prctl");
		exit(1);
	}
}

static __attribute__((noinline)) void *allocate(uint32_t way, size_t size, int depth)
{
	volatile int frame = depth;
	void *block;

	if (!depth)
		return malloc(size);
	block = way & 1 ? allocate(way >> 1, size, depth - 1) : allocate(way >> 2, size, depth - 1);
	frame++;
	return block;
}

/* Allocates blocks of all sizes up to @largest from many call sites. Resizes some of them. */
static void work(uint32_t way, size_t largest, int events)
{
	void **kept = calloc(KEPT, sizeof(*kept));

	for (int i = 0; i < events; i++) {
		void **slot;

		way = way * 1664525 + 1013904223;
		slot = &kept[(way >> 8) % KEPT];
		if (i % 7) {
			free(*slot);
			*slot = allocate(way >> 12, (way >> 4) % largest, (int)(way >> 20) % 9);
		} else {
			*slot = realloc(*slot, (way >> 4) % largest + 1);
		}
	}
	for (int i = 0; i < KEPT; i++)
		free(kept[i]);
	free(kept);
}

static void *run(void *data)
{
	work((uint32_t)(uintptr_t)data, 3000, 20000);
	return NULL;
}

static void run_alone(void)
{
	restrict_calls((const int[]){ -1 });
	work(1, 3000, 100000);
	work(2, 2000000, 2000);
}

static void run_threads(void)
{
	pthread_t threads[THREADS];

	restrict_calls(of_threads);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, (void *)(i + 1));
	run(NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void *wait_for_all(void *data)
{
	pthread_barrier_t *barrier = data;

	free(malloc(100));
	pthread_barrier_wait(barrier);
	return NULL;
}

/*
 * Runs more threads at once than there are static thread states in the shim (PRIVATES_FIRST), so that the shim must map
 * memory for more states while the seccomp filter is active.
 */
static void run_crowd(void)
{
	pthread_t threads[CROWD];
	pthread_barrier_t barrier;

	pthread_barrier_init(&barrier, NULL, CROWD + 1);
	restrict_calls(of_threads);
	for (int i = 0; i < CROWD; i++)
		if (pthread_create(&threads[i], NULL, wait_for_all, &barrier))
			exit(1);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
}

static void run_load(void)
{
	restrict_calls(of_load);
	for (int i = 0; i < 3; i++) {
		void *library = dlopen("libm.so.6", RTLD_NOW);

		work(1, 3000, 3000);
		if (library)
			dlclose(library);
		work(2, 3000, 3000);
	}
}

static void run_fork(void)
{
	restrict_calls(of_fork);
	for (int i = 0; i < 3; i++) {
		int status = 0;
		pid_t pid = fork();

		work(1, 3000, 3000);
		if (pid == 0)
			_exit(i + 1);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != (i + 1) << 8)
			printf("child %d: %x\n", i, status);
		work(2, 3000, 3000);
	}
}

/*
 * Executes this program again. The seccomp filter remains in effect, so the new program may make only the permitted
 * system calls from its first instruction on.
 */
static void run_exec(void)
{
	char *const argv[] = { "untouched_calls", "end", NULL };

	restrict_calls(of_exec);
	work(1, 3000, 3000);
	if (execv("/nonexistent", argv) != -1 || errno != ENOENT)
		exit(1);
	work(2, 3000, 3000);
	execv("/proc/self/exe", argv);
	perror("execv");
	exit(1);
}

static void limit(void)
{
	const struct rlimit address_space = { 4ul << 30, 8ul << 30 }, data = { 1ul << 30, 2ul << 30 };

	if (setrlimit(RLIMIT_AS, &address_space) || setrlimit(RLIMIT_DATA, &data))
		exit(1);
}

static void run_fork_limited(void)
{
	limit();
	always = of_small_malloc;
	restrict_calls(of_fork);
	for (int i = 0; i < 3; i++) {
		int status = 0;
		pid_t pid = fork();

		free(malloc(3000));
		if (pid == 0)
			_exit(0);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			printf("child %d: %x\n", i, status);
		free(malloc(3000));
	}
}

static void run_exec_limited(void)
{
	char *const argv[] = { "untouched_calls", "end", NULL };

	limit();
	always = of_small_malloc;
	restrict_calls((const int[]){ SYS_execve, -1 });
	if (execv("/nonexistent", argv) != -1 || errno != ENOENT)
		exit(1);
	free(malloc(3000));
}

static void run_limits(void)
{
	struct rlimit limit = { 2ul << 30, 4ul << 30 };
	pid_t own = getpid();

	restrict_calls(of_limits);
	for (unsigned int resource = 0; resource < RLIM_NLIMITS; resource++)
		if (prlimit(own, resource, NULL, &limit) || getrlimit(resource, &limit) ||
		    setrlimit(resource, &limit) || prlimit(own, resource, &limit, NULL))
			printf("limit %u: %s\n", resource, strerror(errno));
	work(1, 3000, 3000);
}

/* An unprivileged process may be refused the memory of the session, too. */
static void run_lock(void)
{
	restrict_calls(of_lock);
	if (mlockall(MCL_CURRENT | MCL_FUTURE) && errno != ENOMEM && errno != EPERM)
		printf("mlockall: %s\n", strerror(errno));
	work(1, 3000, 3000);
}

static void run_vfork(void)
{
	char *const argv[] = { "untouched_calls", "end", NULL };
	pid_t pid = vfork();

	if (!pid) {
		restrict_calls(of_exec);
		execv("/proc/self/exe", argv);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	pid = fork();
	work(1, 3000, 3000);
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static void end(void)
{
	work(1, 3000, 3000);
}

/* Makes malloc keep freed memory, because seccomp's strict mode does not permit it to get more. */
static void run_strict(void)
{
	void *block;

	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mallopt(M_MMAP_THRESHOLD, 1 << 28);
	block = malloc(16 << 20);
	free(block);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) {
		perror("prctl");
		exit(1);
	}
	work(1, 3000, 50000);
}

/* Allocates in generated code whose frame pointer does not lead to a return address. */
static void allocate_in_made_code(unsigned char *page)
{
	/*
	 * At the call, rbp points to a saved rbp, above which there is 0x7ead0000 instead of a return address: push
	 * rax; push 0x7ead0000; push rbp; mov rbp, rsp; call rsi; pop rbp; pop rcx; pop rcx; ret
	 */
	static const unsigned char code[] = { 0x50, 0x68, 0, 0, 0xad, 0x7e, 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6,
					      0x5d, 0x59, 0x59, 0xc3 };
	void *(*made)(size_t, void *(*)(size_t)) = (void *(*)(size_t, void *(*)(size_t)))(void *)page;

	memcpy(page, code, sizeof(code));
	for (size_t i = 0; i < 100; i++)
		free(made(i, malloc));
}

static void run_without_waits(unsigned int action)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		exit(1);
	waits = action;
	restrict_calls((const int[]){ -1 });
	work(1, 3000, 20000);
	allocate_in_made_code(page);
}

static void run_waits_kill(void)
{
	run_without_waits(SECCOMP_RET_KILL_PROCESS);
}

static void run_waits_fail(void)
{
	run_without_waits(SECCOMP_RET_ERRNO | EPERM);
}

static const struct {
	const char *name;
	void (*run)(void);
} ways[] = {
	{ "alone", run_alone }, { "threads", run_threads }, { "crowd", run_crowd }, { "load", run_load },
	{ "fork", run_fork },	{ "exec", run_exec },	    { "end", end },
	{ "fork_limited", run_fork_limited }, { "exec_limited", run_exec_limited }, { "limits", run_limits },
	{ "lock", run_lock }, { "vfork", run_vfork },
	{ "strict", run_strict }, { "waits_kill", run_waits_kill }, { "waits_fail", run_waits_fail },
};

int main(int argc, char **argv)
{
	/* Use one arena only: with several arenas, malloc reads a file to find the number of processors. */
	mallopt(M_ARENA_MAX, 1);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if (argc < 2 || strcmp(ways[i].name, argv[1]))
			continue;
		ways[i].run();
		if (write(STDOUT_FILENO, "done\n", 5) < 0)
			return 1;
		syscall(SYS_exit, 0);
	}
	return 2;
}
