/* SPDX-License-Identifier: GPL-2.0 */
/* Torture with several processes: fork, vfork, shared address spaces, tracers, processes that are killed. */
#ifndef MASSIF_SELFTESTS_TORTURE_LIVES_H
#define MASSIF_SELFTESTS_TORTURE_LIVES_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "torture_engine.h"
#include "torture_maps.h"

#ifndef ARCH_MAP_VDSO_64
#define ARCH_MAP_VDSO_64 0x2003
#endif

/* Executes @steps random operations. Defined in torture.c. */
static void work(int steps, bool alone);

static void with_fork(int steps)
{
	pid_t pid = fork_counted();

	if (!pid) {
		state += 5;
		work(steps, true);
		moment();
		save_maps();
		_exit(0);
	}
	work(steps / 2, true);
	reap(pid, 5);
}

/* A vfork child works in the parent's address space until it ends or executes a program. */
static void with_vfork(void)
{
	pid_t pid;
	int i;

	for (i = 0; i < 2; i++) {
		pid = vfork();
		if (!pid) {
			mmap(somewhere(), some(), RW, ANON | MAP_FIXED, -1, 0);
			if (i)
				execl("/bin/true", "true", NULL);
			_exit(0);
		}
		if (i)
			count(&counts->spaces);
		reap(pid, 6);
	}
}

/* Creates many descendants at the same time. Most of them execute only a few operations. */
static void storm(int children, int levels)
{
	pid_t pids[8];
	int i, j;

	for (i = 0; i < children; i += 8) {
		for (j = 0; j < 8; j++) {
			pids[j] = fork_counted();
			if (pids[j])
				continue;
			state += i * 8 + j;
			if (levels && !j)
				storm(8, levels - 1);
			work(j == 7 ? 60 : j, true);
			save_maps();
			_exit(0);
		}
		work(3, true);
		for (j = 0; j < 8; j++)
			if (pids[j] > 0)
				reap(pids[j], 9);
	}
}

/*
 * Changes random mappings in the arena. Several processes that share an address space may call this at the same time.
 * They share the thread-local variables, too, so the state of the random number generator is a local variable here.
 */
static int sharer(void *arg)
{
	uint64_t own = (uintptr_t)arg;
	int i;

	for (i = 0; i < 400; i++) {
		own = own * 6364136223846793005ULL + 1442695040888963407ULL;
		char *at = arena + (own >> 33) % 200 * PAGE;
		size_t len = (1 + (own >> 45) % 20) * PAGE;

		switch ((own >> 56) % 4) {
		case 0: syscall(SYS_munmap, at, len); break;
		case 1: syscall(SYS_mprotect, at, len, PROT_READ); break;
		default: syscall(SYS_mmap, at, len, RW, ANON | MAP_FIXED, -1, 0);
		}
	}
	return 0;
}

static int sharer_execs(void *arg)
{
	sharer(arg);
	execl("/bin/true", "true", NULL);
	return 1;
}

#define SHARERS	4
static char stacks[SHARERS][16 * PAGE] __attribute__((aligned(64)));

static char *stack_top(unsigned int i)
{
	return stacks[i] + sizeof(stacks[i]);
}

/*
 * Waits until the process for which the address space was created has ended. From then on, the calling process is the
 * only user of the address space.
 */
static int survivor(void *arg)
{
	while (syscall(SYS_getppid) == maps_pid)
		sched_yield();
	sharer(arg);
	moment();
	save_maps();
	return 0;
}

static void with_survivor(uint64_t seed)
{
	pid_t pid;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid = fork_counted();
	if (!pid) {
		maps_pid = getpid();
		if (clone(survivor, stack_top(0), CLONE_VM | SIGCHLD, (void *)seed) < 0)
			_exit(10);
		_exit(0);
	}
	reap(pid, 10);
	reap(-1, 10);
}

/* CLONE_VM without CLONE_THREAD: another process, but no new address space. */
static void with_sharers(uint64_t seed)
{
	pid_t pids[SHARERS];
	int i;

	for (i = 0; i < SHARERS; i++) {
		pids[i] = clone(i == 3 ? sharer_execs : sharer, stack_top(i), CLONE_VM | SIGCHLD,
				(void *)(seed + i));
		if (pids[i] < 0)
			exit(10);
		if (i == 3)
			count(&counts->spaces);
	}
	sharer((void *)(seed + 9));
	for (i = 0; i < SHARERS; i++)
		reap(pids[i], 10);
	moment();
}

static pthread_barrier_t barrier;
static int thread_steps;
static bool threads_fork;

static void *thread(void *arg)
{
	int i;

	state = (uintptr_t)arg;
	for (i = 0; i < 4; i++) {
		work(thread_steps / 4, false);
		if (threads_fork) {
			pid_t pid = fork_counted();

			if (!pid) {
				work(10, false);
				save_maps();
				_exit(0);
			}
			reap(pid, 11);
		}
		/* Pause all processes and threads while /proc/self/maps is saved to a file. */
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void with_threads(uint64_t seed, int steps, int n)
{
	pthread_t threads[8];
	uintptr_t i;

	thread_steps = steps;
	pthread_barrier_init(&barrier, NULL, n + 1);
	for (i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, thread, (void *)(seed * 10 + i)))
			exit(3);
	for (i = 0; i < 4; i++) {
		work(steps / 4, false);
		pthread_barrier_wait(&barrier);
		moment();
		pthread_barrier_wait(&barrier);
	}
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	/*
	 * malloc in the threads may have extended the heap above the bytes that this program added with sbrk(), so it
	 * is no longer safe to remove those bytes.
	 */
	grown = 0;
}

/* Kills child processes at arbitrary points while their threads execute operations. */
static void with_killed(uint64_t seed, int children)
{
	while (children--) {
		pid_t pid = fork_counted();
		int status;

		if (!pid) {
			pthread_t thread_id;
			uintptr_t i;

			thread_steps = 1 << 30;
			for (i = 0; i < 3; i++)
				pthread_create(&thread_id, NULL, thread,
					       (void *)(seed * 10 + children * 3 + i));
			work(1 << 30, false);
		}
		usleep(20000 + rnd(50000));
		kill(pid, SIGKILL);
		if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
			exit(12);
	}
}

/* Makes a stopped process execute another system call instead of the one it is about to begin. */
static long inject(pid_t pid, long nr, long a, long b, long c, long d, long e, long f)
{
	struct user_regs_struct regs;
	int status;

	/* Let the traced process continue to the entry of the system call, then to its exit. */
	ptrace(PTRACE_SYSCALL, pid, 0, 0);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		exit(13);
	ptrace(PTRACE_GETREGS, pid, 0, &regs);
	regs.orig_rax = nr;
	regs.rdi = a, regs.rsi = b, regs.rdx = c, regs.r10 = d, regs.r8 = e, regs.r9 = f;
	ptrace(PTRACE_SETREGS, pid, 0, &regs);
	ptrace(PTRACE_SYSCALL, pid, 0, 0);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		exit(13);
	ptrace(PTRACE_GETREGS, pid, 0, &regs);
	return regs.rax;
}

static volatile long traced_stops;

/* Runs in a process whose tracer changes its address space and grows its stack. */
static void be_traced(char *below)
{
	if (ptrace(PTRACE_TRACEME, 0, 0, 0))
		_exit(1);
	raise(SIGSTOP);
	while (!traced_stops)
		syscall(SYS_getppid);
	execs = 0;
	save_maps();
	_exit(0);
}

static void with_tracer(void)
{
	static const char zeros[64];
	struct iovec from = { (void *)zeros, sizeof(zeros) }, to;
	size_t len = 64 * PAGE;
	char *p = mmap(NULL, len, PROT_NONE, ANON, -1, 0);
	char *stack, path[64];
	int status, fd, i;
	pid_t pid;

	stack = mmap(p + len - PAGE, PAGE, RW, ANON | MAP_FIXED | MAP_GROWSDOWN, -1, 0);
	munmap(p + 32 * PAGE, 31 * PAGE);
	pid = fork_counted();
	if (!pid)
		be_traced(stack);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		exit(13);	/* another process already traces this one */

	for (i = 0; i < 40; i++) {
		char *at = somewhere();

		switch (rnd(5)) {
		case 0: inject(pid, SYS_munmap, (long)at, some(), 0, 0, 0, 0); break;
		case 1: inject(pid, SYS_mremap, (long)at, PAGE, 2 * PAGE, MREMAP_MAYMOVE, 0, 0); break;
		case 2: inject(pid, SYS_brk, (long)sbrk(0) + some(), 0, 0, 0, 0, 0); break;
		default: inject(pid, SYS_mmap, (long)at, some(), RW, ANON | MAP_FIXED, -1, 0);
		}
	}
	inject(pid, SYS_mmap, 0, some(), RW, ANON | MAP_POPULATE, -1, 0);
	/*
	 * Access pages below the child's stack in three different ways, which may make the stack grow. This stack is
	 * the child's copy of the MAP_GROWSDOWN mapping that the tracer created before the fork.
	 */
	ptrace(PTRACE_POKEDATA, pid, stack - 2 * PAGE, 1);
	to = (struct iovec){ stack - 5 * PAGE, sizeof(zeros) };
	process_vm_writev(pid, &from, 1, &to, 1, 0);
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	(void)!pwrite(fd, zeros, sizeof(zeros), (uintptr_t)stack - 9 * PAGE);
	close(fd);
	ptrace(PTRACE_POKEDATA, pid, &traced_stops, 1);
	ptrace(PTRACE_DETACH, pid, 0, 0);
	reap(pid, 13);
	munmap(p, len);
}

/* Finds the start and end of the mappings named @name. Returns false if there is none. */
static bool find_named(const char *name, char **start, char **end)
{
	static char text[1 << 16];
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got;
	char *line;

	while ((got = read(fd, text + used, sizeof(text) - 1 - used)) > 0)
		used += got;
	close(fd);
	text[used] = '\0';
	*start = NULL;
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		unsigned long from, to;

		if (!strstr(line, name) || sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		if (!*start)
			*start = (char *)from;
		*end = (char *)to;
	}
	return *start;
}

/* Moves, unmaps and restores the vdso. Nothing may read the time before it is restored. */
static int move_vdso(void)
{
	pid_t pid = fork_counted();
	char *start, *end, *vdso, *vdso_end;
	int status;

	if (!pid) {
		if (!find_named("[vdso]", &vdso, &vdso_end))
			_exit(1);
		/*
		 * Call mremap() with a new length for the vdso: the kernel copies the whole mapping, then fails and
		 * undoes the copy.
		 */
		mremap(vdso, vdso_end - vdso, vdso_end - vdso + 2 * PAGE, MREMAP_MAYMOVE);
		mremap(vdso, vdso_end - vdso, vdso_end - vdso, MREMAP_MAYMOVE | MREMAP_FIXED,
		       arena + 8 * PAGE);
		munmap(arena + 8 * PAGE, vdso_end - vdso);
		if (find_named("[vvar", &start, &end))
			munmap(start, end - start);
		status = syscall(SYS_arch_prctl, ARCH_MAP_VDSO_64, arena + 100 * PAGE) < 0 ? errno : 0;
		moment();
		save_maps();
		_exit(status);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		exit(14);
	return WEXITSTATUS(status);
}

/*
 * Sets a uprobe in the program's own text. The kernel then maps a page into the process, and executes the probed
 * instruction there.
 */
__attribute__((noinline, aligned(16))) void torture_probed(void);
__asm__(".text\n"
	".globl torture_probed\n"
	".type torture_probed, @function\n"
	"torture_probed:\n"
	"	.cfi_startproc\n"
	"	xorl %eax, %eax\n"
	"	ret\n"
	"	.cfi_endproc\n");

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	int error = fd < 0 || write(fd, text, strlen(text)) < 0 ? errno : 0;

	close(fd);
	return error;
}

#define TRACING "/sys/kernel/tracing/"

static int be_probed(void)
{
	char exe[400], text[512], *start, *end;
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	int error;

	if (len < 0)
		return errno;
	exe[len] = '\0';
	if (!find_named(exe, &start, &end))
		exit(15);
	/*
	 * The program's first mapping begins at file offset 0, so the file offset of an address is its distance from
	 * the start of that mapping.
	 */
	snprintf(text, sizeof(text), "p:torture/t%d %s:0x%lx\n", getpid(), exe,
		 (unsigned long)((char *)torture_probed - start));
	error = write_text(TRACING "uprobe_events", text);
	if (error)
		return error;
	snprintf(text, sizeof(text), TRACING "events/torture/t%d/enable", getpid());
	error = write_text(text, "1");
	torture_probed();
	moment();
	if (!error && !find_named("[uprobes]", &start, &end))
		exit(15);
	write_text(text, "0");
	snprintf(text, sizeof(text), "-:torture/t%d\n", getpid());
	write_text(TRACING "uprobe_events", text);
	return error;
}

#endif
