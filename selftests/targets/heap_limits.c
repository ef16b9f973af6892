// SPDX-License-Identifier: GPL-2.0
// Sets its own resource limits. Its output must be the same as without a profiler.

#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define GIB (1ull << 30)
#define MIB (1ull << 20)

static volatile char *volatile kept[64];

static void say(const char *what)
{
	struct rlimit limit, other;

	if (getrlimit(RLIMIT_AS, &limit) || prlimit(0, RLIMIT_AS, NULL, &other))
		_exit(90);
	printf("%s: %lld %lld %s\n", what, (long long)limit.rlim_cur, (long long)limit.rlim_max,
	       memcmp(&limit, &other, sizeof(limit)) ? "differs" : "same");
}

/* Allocates blocks that make the heap grow, and one that has its own mapping. */
static void allocate(void)
{
	for (int i = 0; i < 64; i++)
		kept[i] = malloc(100000);
	for (int i = 0; i < 64; i++)
		if (!kept[i])
			printf("no block\n");
	printf("64 MiB: %s\n", malloc(64 * MIB) ? "yes" : "no");
}

static void set(uint64_t soft, uint64_t hard)
{
	const struct rlimit limit = { soft, hard };
	int ret = setrlimit(RLIMIT_AS, &limit);

	printf("%llu MiB, %llu MiB: %s\n", (unsigned long long)(soft / MIB), (unsigned long long)(hard / MIB),
	       ret ? strerror(errno) : "set");
}

static void wait_for(pid_t pid)
{
	int status;

	waitpid(pid, &status, 0);
	printf("child: %d\n", status);
}

/*
 * Executes a shell with execvp() in a forked child, and with execv() in a vforked child. Each shell prints its soft
 * limit on the address space.
 */
static void execute(void)
{
	char *argv[] = { "sh", "-c", "ulimit -S -v", NULL };
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		/* The first exec fails, the second one succeeds. */
		execv("/nonexistent/program", argv);
		say("still");
		allocate();
		fflush(stdout);
		execvp("sh", argv);
		_exit(91);
	}
	wait_for(pid);
	fflush(stdout);
	pid = vfork();
	if (!pid) {
		execv("/bin/sh", argv);
		_exit(91);
	}
	wait_for(pid);
	say("parent");
}

/* A child of vfork() sets limits of its own, which its parent does not have. */
static int of_vfork(void)
{
	char *argv[] = { "sh", "-c", "ulimit -S -v; ulimit -S -d", NULL };
	const struct rlimit address_space = { 512 * MIB, 1 * GIB }, data = { 256 * MIB, 256 * MIB };
	pid_t pid;

	set(1 * GIB, 2 * GIB);
	fflush(stdout);
	pid = vfork();
	if (!pid) {
		setrlimit(RLIMIT_AS, &address_space);
		setrlimit(RLIMIT_DATA, &data);
		execv("/nonexistent/program", argv);
		execv("/bin/sh", argv);
		_exit(91);
	}
	wait_for(pid);
	say("parent");
	allocate();
	execute();
	return 3;
}

/*
 * Checks that a program started with posix_spawn has its parent's limits. The shell waits before it prints its limits,
 * because they are corrected only after posix_spawn has returned in the parent.
 */
static int spawned(void)
{
	char *argv[] = { "sh", "-c", "sleep 0.5; ulimit -S -v; ulimit -H -v; ulimit -S -d; ulimit -H -d", NULL };
	const struct rlimit data = { 512 * MIB, 512 * MIB };
	pid_t pid;

	allocate();
	set(1 * GIB, 2 * GIB);
	setrlimit(RLIMIT_DATA, &data);
	fflush(stdout);
	if (posix_spawnp(&pid, "sh", NULL, NULL, argv, environ))
		return 7;
	wait_for(pid);
	say("parent");
	return 3;
}

static int address_space(void)
{
	void *huge;

	allocate();
	set(1 * GIB, 2 * GIB);
	say("limited");
	allocate();
	/* Checks that the soft limit on the address space, set to 1 GiB, is enforced. */
	huge = mmap(NULL, 1ull << 42, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	printf("4 TiB: %s\n", huge == MAP_FAILED ? strerror(errno) : "mapped");
	set(2 * GIB, 1 * GIB);
	say("refused");
	set(2 * GIB, 2 * GIB);
	say("hard");
	set(1 * GIB, 2 * GIB);
	execute();
	allocate();
	fflush(stdout);
	free(malloc(2000000));
	return 3;
}

/* @file: /proc/self/status */
static long locked_kib(FILE *file)
{
	char line[256];
	long kib = -1;

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "VmLck: %ld", &kib);
	if (file)
		fclose(file);
	return kib;
}

/* Checks that mlockall(MCL_CURRENT) locks all existing mappings, and nothing more. */
static int locked(void)
{
	char *map = mmap(NULL, 16 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char present[16];
	long kib;

	mmap(NULL, MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	allocate();
	if (mlockall(~0) != -1 || errno != EINVAL)
		printf("strange flags are taken\n");
	if (mlockall(MCL_CURRENT)) {
		printf("mlockall: %s\n", strerror(errno));
		return 4;
	}
	mincore(map + 8 * MIB, 16 * 4096, present);
	printf("present: %d\n", present[0] & present[15] & 1);
	kib = locked_kib(fopen("/proc/self/status", "r"));
	printf("locked: %s\n", kib < 16 * 1024 ? "too little" : kib > 256 * 1024 ? "too much" : "fine");
	free(malloc(2000000));
	return 3;
}

/* Drops root privileges, because RLIMIT_MEMLOCK does not apply to privileged processes. */
static void become_unprivileged(void)
{
	if (!getuid() && (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534)))
		_exit(6);
}

/* A call of mlockall() that exceeds the limit locks nothing, neither now nor later. */
static int lock_refused(void)
{
	const struct rlimit limit = { MIB, MIB };
	FILE *status = fopen("/proc/self/status", "r");

	setrlimit(RLIMIT_MEMLOCK, &limit);
	become_unprivileged();
	printf("mlockall: %s\n", mlockall(MCL_CURRENT | MCL_FUTURE) ? strerror(errno) : "success");
	printf("locked: %ld KiB\n", locked_kib(status));
	printf("4 MiB: %s\n", malloc(4 * MIB) ? "yes" : "no");
	return 3;
}

/* Checks that the program may lock all its memory. */
static void lock_once(void)
{
	if (mlockall(MCL_CURRENT)) {
		printf("at first: %s\n", strerror(errno));
		fflush(stdout);
		_exit(4);
	}
	munlockall();
}

/* mlockall() needs no descriptor. */
static int lock_without_descriptors(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	const struct rlimit limit = { 3, 3 };

	lock_once();
	setrlimit(RLIMIT_NOFILE, &limit);
	printf("mlockall: %s\n", mlockall(MCL_CURRENT) ? strerror(errno) : "success");
	printf("locked: %s\n", locked_kib(status) < 1024 ? "too little" : "fine");
	return 3;
}

static volatile bool is_over;

static void *map_and_unmap(void *data)
{
	while (!is_over) {
		void *one = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		void *other = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		munmap(one, 4096);
		munmap(other, 4096);
	}
	return data;
}

/* Another thread may unmap memory meanwhile. */
static int lock_while_unmapping(void)
{
	pthread_t thread;

	lock_once();
	pthread_create(&thread, NULL, map_and_unmap, NULL);
	for (int i = 0; i < 1000; i++) {
		if (mlockall(MCL_CURRENT))
			printf("mlockall: %s\n", strerror(errno));
		munlockall();
	}
	is_over = true;
	pthread_join(thread, NULL);
	return 3;
}

static pthread_barrier_t begun, ended;

static void *run(void *data)
{
	free(malloc(100));
	pthread_barrier_wait(&begun);
	pthread_barrier_wait(&ended);
	return data;
}

/* Starts threads that allocate and then wait. */
static void start_threads(unsigned int n)
{
	pthread_attr_t attr;

	pthread_barrier_init(&begun, NULL, n + 1);
	pthread_barrier_init(&ended, NULL, n + 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16 << 10);
	while (n--) {
		pthread_t thread;
		int code = pthread_create(&thread, &attr, run, NULL);

		if (code) {
			printf("pthread_create: %s\n", strerror(code));
			fflush(stdout);
			_exit(5);
		}
	}
	pthread_barrier_wait(&begun);
}

static void lock_what_comes(void)
{
	become_unprivileged();
	if (mlockall(MCL_FUTURE)) {
		printf("mlockall: %s\n", strerror(errno));
		fflush(stdout);
		_exit(4);
	}
}

/*
 * room as|data|memlock THREADS [MIB]: prints how much the program can map under a limit that it sets itself (MIB) or
 * inherits.
 */
static int room(char **argv)
{
	int resource = !strcmp(argv[0], "as") ? RLIMIT_AS : !strcmp(argv[0], "data") ? RLIMIT_DATA : RLIMIT_MEMLOCK;
	const uint64_t mib = argv[2] ? strtoull(argv[2], NULL, 10) * MIB : 0;
	const struct rlimit limit = { mib, mib };
	struct rlimit seen;
	uint64_t pages = 0;

	free(malloc(100));
	if (mib && setrlimit(resource, &limit))
		return 90;
	if (resource == RLIMIT_MEMLOCK)
		lock_what_comes();
	start_threads((unsigned int)atoi(argv[1]));
	while (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		pages++;
	getrlimit(resource, &seen);
	/* printf() would allocate. */
	dprintf(STDOUT_FILENO, "room %llu KiB, limits %lld %lld\n", (unsigned long long)pages * 4,
		(long long)seen.rlim_cur, (long long)seen.rlim_max);
	_exit(3);
}

static void report(const char *what, int ret)
{
	printf("%s: %s\n", what, ret ? strerror(errno) : "success");
}

/* Passes addresses that cannot be used, and one address for both limits, of what is set and of what is returned. */
static int addresses(void)
{
	static const int resources[] = { RLIMIT_AS, RLIMIT_DATA };
	/* Volatile, so that the compiler does not warn about the pointers. */
	struct rlimit *volatile none = NULL, *volatile wild = (struct rlimit *)8;

	for (int i = 0; i < 2; i++) {
		struct rlimit both = { 8 * GIB, RLIM_INFINITY }, seen;

		report("get, wild", getrlimit(resources[i], wild));
		report("get, none", getrlimit(resources[i], none));
		report("set, wild", setrlimit(resources[i], wild));
		report("set, none", setrlimit(resources[i], none));
		report("exchange, wild", prlimit(0, resources[i], wild, NULL));
		report("exchange, both wild", prlimit(0, resources[i], wild, wild));
		report("exchange, wild result", prlimit(0, resources[i], NULL, wild));
		report("exchange", prlimit(0, resources[i], &both, &both));
		report("get", getrlimit(resources[i], &seen));
		printf("was %lld %lld, is %lld %lld\n", (long long)both.rlim_cur, (long long)both.rlim_max,
		       (long long)seen.rlim_cur, (long long)seen.rlim_max);
		both.rlim_cur = 4 * GIB;
		report("exchange with a wild result", prlimit(0, resources[i], &both, wild));
		report("get", getrlimit(resources[i], &seen));
		printf("is %lld %lld\n", (long long)seen.rlim_cur, (long long)seen.rlim_max);
	}
	return 3;
}

static ucontext_t first, small;

static void fail_to_execute(void)
{
	char *argv[] = { "x", NULL };

	printf("execve: %d\n", execve("/nonexistent", argv, environ));
}

/* Executes a program that does not exist on a stack of 8 KiB, below which there is an inaccessible page. */
static int execute_on_small_stack(void)
{
	char *stack = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	set(1 * GIB, 2 * GIB);
	mprotect(stack, 4096, PROT_NONE);
	getcontext(&small);
	small.uc_stack.ss_sp = stack + 4096;
	small.uc_stack.ss_size = 2 * 4096;
	small.uc_link = &first;
	makecontext(&small, fail_to_execute, 0);
	swapcontext(&first, &small);
	return 3;
}

static void *fail_to_execute_often(void *data)
{
	for (int i = 0; i < 2000; i++)
		execlp("no-such-program", "x", NULL);
	is_over = true;
	return data;
}

/* A thread executes programs that do not exist, while another one maps memory, for which there is room. */
static int execute_beside_thread(void)
{
	pthread_t thread;
	bool fails = false;

	set(1 * GIB, 2 * GIB);
	pthread_create(&thread, NULL, fail_to_execute_often, NULL);
	while (!is_over) {
		void *map = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		fails = fails || map == MAP_FAILED;
		munmap(map, MIB);
	}
	pthread_join(thread, NULL);
	printf("mmap: %s\n", fails ? "fails" : "success");
	say("afterwards");
	/* Children have one thread, and no other process's limits. */
	execute();
	return 3;
}

static const struct {
	const char *name;
	int (*run)(void);
} modes[] = {
	{ "address_space", address_space },
	{ "addresses", addresses },
	{ "locked", locked },
	{ "lock_refused", lock_refused },
	{ "lock_without_descriptors", lock_without_descriptors },
	{ "lock_while_unmapping", lock_while_unmapping },
	{ "spawned", spawned },
	{ "of_vfork", of_vfork },
	{ "execute_on_small_stack", execute_on_small_stack },
	{ "execute_beside_thread", execute_beside_thread },
};

int main(int argc, char **argv)
{
	if (argc > 3 && !strcmp(argv[1], "room"))
		return room(argv + 2);
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i].name))
			return modes[i].run();
	return 92;
}
