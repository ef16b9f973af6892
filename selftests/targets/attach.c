// SPDX-License-Identifier: GPL-2.0
// Programs that massif-ctl attach --heap is tried on. Each prints "ready" and a process id, and waits for a byte on its
// standard input before it works; the word on the command line says at what.

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { BLOCKS = 64, N_THREADS = 128 };

static volatile int stops;
static int failed;

static void fail(const char *what)
{
	if (!failed)
		dprintf(2, "attach target: %s, errno %d\n", what, errno);
	failed = 1;
}

/* Allocates nothing, so that a profile from the start equals a later one. */
static void say_ready(pid_t pid)
{
	char line[32];

	if (write(1, line, (size_t)snprintf(line, sizeof(line), "ready %d\n", (int)pid)) < 0)
		fail("write");
}

/* Waits for a byte. Returns false at the end of the input. */
static int wait_for_byte(void)
{
	char byte;
	ssize_t n = read(0, &byte, 1);

	if (n < 0)
		fail("read");
	return n == 1;
}

static void *take(size_t size)
{
	return malloc(size);
}

/* A program at a fixed address has an entry of its own for a function whose address is in its code. */
static void *(*volatile pointer)(size_t);

/* Allocates in all ways of C, and frees a part of it. */
static void work(void)
{
	void *block[3] = { NULL }, *volatile kept;
	char *text;

	for (int i = 0; i < 1000; i++) {
		void *more = take((size_t)i % 300);

		if (i % 2)
			free(more);
	}
	for (size_t i = 1; i < 50; i++) {
		if (posix_memalign(&block[0], 64, i * 10))
			fail("posix_memalign");
		block[1] = aligned_alloc(32, i * 32);
		block[2] = calloc(i, 7);
		block[2] = realloc(block[2], i * 100);
		block[2] = reallocarray(block[2], i, 3);
		free(block[i % 3]);
	}
	text = strdup("a string");
	free(text);
	pointer = malloc;
	free(pointer(77));
	kept = realloc(NULL, 12345);
	(void)kept;
}

/* A thread that is inside malloc() may hold its lock: a handler of a signal that allocated then would wait for ever. */
static __thread volatile sig_atomic_t is_in_malloc;

static void *allocate(void *number)
{
	unsigned int seed = (unsigned int)(uintptr_t)number;
	void *blocks[BLOCKS] = { NULL };

	while (!stops) {
		int i = rand_r(&seed) % BLOCKS;
		size_t size = (size_t)rand_r(&seed) % 2000;

		is_in_malloc = 1;
		if (blocks[i]) {
			free(blocks[i]);
			blocks[i] = NULL;
		} else {
			blocks[i] = malloc(size);
			if (seed % 64 == 0)
				blocks[i] = realloc(blocks[i], 300);
		}
		is_in_malloc = 0;
	}
	/* For good: a thread's end frees memory, too. */
	is_in_malloc = 1;
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	return NULL;
}

static void allocate_in_handler(int signal)
{
	if (!is_in_malloc)
		free(malloc(33));
}

static void send_signals(void)
{
	struct sigaction action = { .sa_handler = allocate_in_handler, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } };

	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
}

/* @n threads allocate and free until the next byte. */
static void storm(int n)
{
	pthread_t threads[N_THREADS];

	is_in_malloc = 1;
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, allocate, (void *)(uintptr_t)i);
	is_in_malloc = 0;
	wait_for_byte();
	is_in_malloc = 1;
	stops = 1;
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static void *allocate_once(void *unused)
{
	free(malloc(100));
	return NULL;
}

static void *sleeps_until_stop(void *unused)
{
	while (!stops)
		usleep(10000);
	return NULL;
}

static void *stop_at_byte(void *unused)
{
	wait_for_byte();
	stops = 1;
	return NULL;
}

/* The first thread creates further ones all the time, while N_THREADS others wait. */
static void create_threads(void)
{
	pthread_t threads[N_THREADS], other;

	for (int i = 0; i < N_THREADS; i++)
		pthread_create(&threads[i], NULL, sleeps_until_stop, NULL);
	pthread_create(&other, NULL, stop_at_byte, NULL);
	say_ready(getpid());
	while (!stops) {
		pthread_t one;

		if (pthread_create(&one, NULL, allocate_once, NULL) || pthread_join(one, NULL))
			fail("pthread_create");
	}
	pthread_join(other, NULL);
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* The only thread never waits: it allocates until a signal arrives. */
static void on_term(int signal)
{
	stops = 1;
}

static void storm_alone(void)
{
	signal(SIGTERM, on_term);
	say_ready(getpid());
	allocate(NULL);
}

#define EVERY_MS 100

/* The system calls of these threads must not be seen to be interrupted, nor to take longer or shorter. */
static void *sleeps(void *unused)
{
	while (!stops) {
		struct timespec time = { .tv_nsec = EVERY_MS * 1000000l }, from, to;

		clock_gettime(CLOCK_MONOTONIC, &from);
		if (nanosleep(&time, NULL))
			fail("nanosleep");
		clock_gettime(CLOCK_MONOTONIC, &to);
		if ((to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000 < EVERY_MS - 1)
			fail("nanosleep was too short");
	}
	return NULL;
}

static void *polls(void *unused)
{
	int fd = epoll_create1(0);
	struct epoll_event event;

	while (!stops) {
		if (epoll_wait(fd, &event, 1, EVERY_MS))
			fail("epoll_wait");
		if (poll(NULL, 0, EVERY_MS))
			fail("poll");
	}
	return NULL;
}

static void *awaits_signal(void *unused)
{
	struct timespec time = { .tv_nsec = EVERY_MS * 1000000l };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	while (!stops)
		if (sigtimedwait(&set, NULL, &time) != -1 || errno != EAGAIN)
			fail("sigtimedwait");
	return NULL;
}

static void *awaits_condition(void *unused)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

	while (!stops) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += (until.tv_nsec + EVERY_MS * 1000000l) / 1000000000;
		until.tv_nsec = (until.tv_nsec + EVERY_MS * 1000000l) % 1000000000;
		pthread_mutex_lock(&mutex);
		if (pthread_cond_timedwait(&condition, &mutex, &until) != ETIMEDOUT)
			fail("pthread_cond_timedwait");
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void check_mask(void)
{
	sigset_t set;

	pthread_sigmask(SIG_SETMASK, NULL, &set);
	if (sigismember(&set, SIGHUP) != 1 || sigismember(&set, SIGTERM) || sigismember(&set, SIGSEGV))
		fail("the mask of signals has changed");
}

/* Spins with known values in registers, among them such that functions may change, and checks them. */
static void *computes(void *unused)
{
	static const uint32_t values[4] = { 0x3f800000, 0x40000000, 0x40400000, 0x40800000 };
	uint32_t seen[4], control = 0x1fa0, now;
	uint64_t whole;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	while (!stops) {
		errno = 77;
		__asm__ volatile("ldmxcsr %[control]\n"
				 "movups (%[values]), %%xmm7\n"
				 "movups (%[values]), %%xmm15\n"
				 "movabs $0x1122334455667788, %%r8\n"
				 "mov %%r8, %%r9\n"
				 "mov %%r8, %%r11\n"
				 "mov $5000000, %%ecx\n"
				 "1: addps %%xmm7, %%xmm1\n"
				 "dec %%ecx\n"
				 "jnz 1b\n"
				 "mov %%r8, %[whole]\n"
				 "and %%r9, %[whole]\n"
				 "and %%r11, %[whole]\n"
				 "andps %%xmm15, %%xmm7\n"
				 "movups %%xmm7, (%[seen])\n"
				 "stmxcsr %[now]\n"
				 : [whole] "=&r"(whole), [now] "=m"(now)
				 : [values] "r"(values), [seen] "r"(seen), [control] "m"(control)
				 : "rcx", "r8", "r9", "r11", "xmm1", "xmm7", "xmm15", "memory", "cc");
		if (whole != 0x1122334455667788 || memcmp(values, seen, sizeof(seen)) || ((now ^ control) & ~0x3fu))
			fail("registers have changed");
		if (errno != 77)
			fail("errno has changed");
		check_mask();
	}
	return NULL;
}

static void check_actions(void)
{
	struct sigaction action;

	for (int i = 1; i < 65; i++)
		if (!sigaction(i, NULL, &action) && action.sa_handler != SIG_DFL)
			fail("the action of a signal has changed");
}

static void keep(void)
{
	static void *(*const all[])(void *) = { sleeps, polls, awaits_signal, awaits_condition, computes };
	enum { N = sizeof(all) / sizeof(all[0]) };
	pthread_t threads[N];
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < N; i++)
		pthread_create(&threads[i], NULL, all[i], NULL);
	wait_for_byte();
	stops = 1;
	for (int i = 0; i < N; i++)
		pthread_join(threads[i], NULL);
	check_actions();
}

/* Lets no system call pass that an attach needs. */
static void restrict_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		fail("seccomp");
}

static void hide_files(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/tmp", "tmpfs", 0, NULL) || mount("none", "/work", "tmpfs", 0, NULL))
		_exit(4);
}

/* Loads the library whose name is the next byte of the input's line, and uses it. */
static void load(const char *path)
{
	void *handle = dlopen(path, RTLD_LAZY);
	void *(*make)(void) = NULL;

	if (handle)
		*(void **)&make = dlsym(handle, "attach_make");
	if (!make) {
		fail(dlerror());
		return;
	}
	for (int i = 0; i < 7; i++)
		make();
}

static void *(*deep_make)(void);
static void (*deep_end)(void *);

/*
 * Loads a library that gets its blocks from the C library, whatever allocator the program has, and has not called any of
 * its functions yet; or lets it allocate.
 */
static void load_deep(const char *path)
{
	void *handle = path ? dlopen(path, RTLD_LAZY | RTLD_DEEPBIND) : NULL;

	if (handle) {
		*(void **)&deep_make = dlsym(handle, "attach_make");
		*(void **)&deep_end = dlsym(handle, "attach_end");
	}
	if (!deep_make || !deep_end)
		fail("a library with RTLD_DEEPBIND");
	else if (!path)
		for (int i = 0; i < 7; i++)
			deep_end(deep_make());
}

static void fork_many(void)
{
	for (int i = 0; i < 300; i++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			free(malloc(100));
			_exit(7);
		}
		if (waitpid(pid, &status, 0) != pid || status != 7 << 8)
			fail("a child");
	}
}

static void set_limit(int which, rlim_t value)
{
	struct rlimit limit = { value, value };

	setrlimit(which, &limit);
}

/* Waits for bytes with @bytes of the stack in use. */
static __attribute__((noinline)) void wait_deep(size_t bytes)
{
	volatile char *stack = alloca(bytes);

	stack[0] = 1;
	while (wait_for_byte()) {
		work();
		if (write(1, "done\n", 5) != 5)
			fail("write");
	}
}

/* Maps a file that is named like one that massif-ctl looks for: "NAME:TIMES". */
static void map_often(const char *what)
{
	char name[64];
	int n = atoi(strchr(what, ':') + 1), fd;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(what, ":"), what);
	fd = strncmp(name, "lib", 3) ? memfd_create(name, 0) : open(name, O_RDWR | O_CREAT | O_TRUNC, 0700);
	if (fd < 0 || ftruncate(fd, 4096))
		fail(name);
	for (int i = 0; i < 512; i++)
		if (pwrite(fd, "\1\1\1\1\1\1\1\1", 8, i * 8) != 8)
			fail("pwrite");
	for (int i = 0; i < n; i++)
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0) == MAP_FAILED)
			fail("mmap");
	close(fd);
}

/* Maps the file of the C library below the library itself, as programs do that look for symbols. */
static void read_library(void)
{
	Dl_info info;
	int fd = dladdr((void *)(uintptr_t)dlsym(RTLD_DEFAULT, "malloc"), &info) ? open(info.dli_fname, O_RDONLY) : -1;

	if (mmap((void *)0x10000000, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) == MAP_FAILED)
		fail("the file of the C library");
	close(fd);
}

enum { TRAP_FLAG = 1 << 8, STEPS_IN_LINKER = 100 };

static bool steps_in_plt; /* or in the dynamic linker */

/* Is the next instruction the first of those that have a function bound at its first call? */
static bool is_binding(const unsigned char *at)
{
	static const unsigned char mark[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static int steps;
	Dl_info here, linker;

	if (steps_in_plt)
		return at[memcmp(at, mark, sizeof(mark)) ? 0 : sizeof(mark)] == 0x68;
	dladdr(dlsym(RTLD_DEFAULT, "_r_debug"), &linker);
	return dladdr(at, &here) && here.dli_fbase == linker.dli_fbase && ++steps == STEPS_IN_LINKER;
}

/* Stays in this handler for a while once it has interrupted the binding of a function. */
static void step(int signal, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;

	if (!is_binding((const unsigned char *)registers[REG_RIP]))
		return;
	say_ready(getpid());
	nanosleep(&(struct timespec){ .tv_nsec = 700000000 }, NULL);
	registers[REG_EFL] &= ~TRAP_FLAG;
}

static void *wait_for_ever(void *unused)
{
	while (pause())
		;
	return NULL;
}

/* Calls a function for the first time, in steps. */
static void bind_in_steps(void)
{
	struct sigaction action = { .sa_sigaction = step, .sa_flags = SA_SIGINFO };
	pthread_t other;
	void *block;

	pthread_create(&other, NULL, wait_for_ever, NULL);
	sigaction(SIGTRAP, &action, NULL);
	__asm__ volatile("pushfq\n"
			 "orq $0x100, (%%rsp)\n"
			 "popfq\n" ::: "memory", "cc");
	block = pvalloc(100);
	free(block);
}

static void before(const char *word, const char *other)
{
	sigset_t all;

	if (!strcmp(word, "blocks")) {
		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, NULL);
	} else if (!strcmp(word, "locks")) {
		mlockall(MCL_FUTURE);
	} else if (!strcmp(word, "limited")) {
		set_limit(RLIMIT_AS, 1u << 30);
	} else if (!strcmp(word, "full")) {
		set_limit(RLIMIT_NOFILE, 3);
	} else if (!strcmp(word, "restricted")) {
		restrict_calls();
	} else if (!strcmp(word, "hidden")) {
		hide_files();
	} else if (!strcmp(word, "maps")) {
		map_often(other);
	} else if (!strcmp(word, "deep-library")) {
		load_deep(other);
	} else if (!strcmp(word, "reads-library")) {
		read_library();
	} else if (!strcmp(word, "twice")) {
		if (!dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW))
			fail("dlmopen");
	} else if (!strcmp(word, "signals") || !strcmp(word, "alone-signals")) {
		send_signals();
	}
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "work";

	before(word, argc > 2 ? argv[2] : "");
	if (!strncmp(word, "alone", 5)) {
		storm_alone();
		return failed;
	}
	if (!strcmp(word, "vfork")) {
		pid_t pid = vfork();

		if (!pid) {
			say_ready(getpid());
			wait_for_byte();
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		return failed;
	}
	if (!strncmp(word, "steps", 5)) {
		steps_in_plt = !strcmp(word, "steps-in-plt");
		bind_in_steps();
	} else if (!strcmp(word, "storm") || !strcmp(word, "signals")) {
		say_ready(getpid());
		storm(argc > 2 ? atoi(argv[2]) : 8);
		return failed;
	}
	if (!strcmp(word, "creates")) {
		create_threads();
		return failed;
	}
	if (strncmp(word, "steps", 5))
		say_ready(getpid());
	if (!strcmp(word, "keep")) {
		keep();
		return failed;
	}
	if (!strcmp(word, "deep")) {
		wait_deep((size_t)atoi(argv[2]) << 20);
		return failed;
	}
	while (wait_for_byte()) {
		if (!strcmp(word, "load"))
			load(argv[2]);
		else if (!strcmp(word, "deep-library"))
			load_deep(NULL);
		else if (!strcmp(word, "forks"))
			fork_many();
		else if (!strncmp(word, "steps", 5))
			for (int i = 0; i < 7; i++)
				free(pvalloc(100));
		else if (!strcmp(word, "executes"))
			execl(argv[2], argv[2], "again", NULL);
		work();
		if (write(1, "done\n", 5) != 5)
			fail("write");
	}
	return failed;
}
