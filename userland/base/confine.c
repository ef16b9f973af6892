// SPDX-License-Identifier: GPL-2.0
// Lets a process drop its privileges.
//
// System calls are made directly where glibc's functions would involve other threads, because the process may have
// been forked by a multi-threaded process.

#include "base/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define NOBODY 65534u /* the kernel's uid for "nobody" */

enum { FILES = 64 }; /* maximum number of open descriptors: the object, its debug files, .dwo files */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

static int (*open_for_us)(const char *path);

static bool get_capabilities(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &header, data) == 0;
}

bool mf_confine_has_rights(void)
{
	struct __user_cap_data_struct data[2];

	if (geteuid() == 0 || !get_capabilities(data))
		return true;
	return data[0].effective || data[1].effective || data[0].permitted || data[1].permitted;
}

static bool drop_user(void)
{
	if (syscall(SYS_setgroups, 0, NULL) || syscall(SYS_setresgid, NOBODY, NOBODY, NOBODY) ||
	    syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY))
		return geteuid() && getuid();
	return true;
}

static bool drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, none) == 0;
}

/* Closes the descriptors @first to @last, inclusive. */
static void close_between(unsigned int first, unsigned int last)
{
	struct rlimit limit;

	if (first > last)
		return;
#ifdef SYS_close_range
	if (syscall(SYS_close_range, first, last, 0) == 0)
		return;
#endif
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	for (unsigned int fd = first; fd <= last && fd < limit.rlim_cur; fd++)
		close((int)fd);
}

/*
 * Moves @socket and @file to their fixed numbers and closes all other descriptors. The others are closed first, because
 * otherwise there might be no free descriptor number for the move.
 */
static void close_others(int socket, int file)
{
	unsigned int low = (unsigned int)(file >= 0 && file < socket ? file : socket);
	unsigned int high = (unsigned int)(file > socket ? file : socket);
	int own_socket, own_file;

	if (low)
		close_between(0, low - 1);
	close_between(low + 1, high - 1);
	close_between(high + 1, ~0u);
	/* Move both descriptors to higher numbers first, so that neither is overwritten when the other is moved. */
	own_socket = fcntl(socket, F_DUPFD, MF_CONFINE_FILE + 1);
	own_file = file < 0 ? -1 : fcntl(file, F_DUPFD, MF_CONFINE_FILE + 1);
	dup2(own_socket, MF_CONFINE_SOCKET);
	if (own_file >= 0)
		dup2(own_file, MF_CONFINE_FILE);
	close_between(own_file >= 0 ? MF_CONFINE_FILE + 1 : MF_CONFINE_FILE, ~0u);
}

/* Parses a line of /proc/self/maps. Returns whether the mapping is shared with other processes. */
static bool is_shared(const char *line, uint64_t *start, uint64_t *end)
{
	char rights[5];

	return sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", start, end, rights) == 3 && rights[3] == 's';
}

/*
 * Unmaps all shared memory, including the sessions of profiled processes, which are mapped writable. Reads
 * /proc/self/maps without stdio, because another thread may have held a stdio lock at the time of the fork. It is safe
 * to unmap a mapping while this file is being read: the kernel resumes after the last mapping that it reported.
 */
static void unmap_shared(void)
{
	static char text[1 << 16];
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t kept = 0;
	ssize_t n;

	while (fd >= 0 && (n = read(fd, text + kept, sizeof(text) - 1 - kept)) > 0) {
		char *line = text, *end_of_line;

		text[kept + (size_t)n] = '\0';
		for (; (end_of_line = strchr(line, '\n')); line = end_of_line + 1) {
			uint64_t start, end;

			*end_of_line = '\0';
			if (is_shared(line, &start, &end))
				munmap((void *)(uintptr_t)start, end - start);
		}
		kept = strlen(line);
		memmove(text, line, kept);
	}
	if (fd >= 0)
		close(fd);
}

/* Returns the size of the process's address space in bytes. */
static uint64_t size_of_self(void)
{
	char text[64] = "";
	uint64_t pages = 0;
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) > 0)
		sscanf(text, "%" SCNu64, &pages);
	close(fd);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Makes the OOM killer kill this process first. */
static void offer_to_oom_killer(void)
{
	static const char most[] = "1000";
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, most, sizeof(most) - 1) < 0)
		errno = 0;
	close(fd);
}

static void limit(int resource, uint64_t most)
{
	struct rlimit limits;

	if (getrlimit((__rlimit_resource_t)resource, &limits))
		return;
	if (limits.rlim_max > most)
		limits.rlim_max = most;
	if (limits.rlim_cur > limits.rlim_max)
		limits.rlim_cur = limits.rlim_max;
	setrlimit((__rlimit_resource_t)resource, &limits);
}

/*
 * The kernel sends SIGXCPU at the soft limit and SIGKILL at the hard limit. The hard limit is one second higher, so
 * that a process that takes too long dies of SIGXCPU, which the parent can recognise.
 */
static void limit_cpu_time(unsigned int cpu_s)
{
	struct rlimit limits;

	limit(RLIMIT_CPU, cpu_s + 1ull);
	if (getrlimit(RLIMIT_CPU, &limits) || limits.rlim_cur <= cpu_s)
		return;
	limits.rlim_cur = cpu_s;
	setrlimit(RLIMIT_CPU, &limits);
}

static void set_limits(unsigned int cpu_s)
{
	limit(RLIMIT_AS, size_of_self() + MF_CONFINE_MEMORY_MAX);
	limit_cpu_time(cpu_s);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_FSIZE, 0);
	limit(RLIMIT_NOFILE, FILES);
	limit(RLIMIT_NPROC, 0);
	limit(RLIMIT_MEMLOCK, 0);
	limit(RLIMIT_MSGQUEUE, 0);
}

/*
 * SIGSYS handler: the filter traps system calls that open a file (SECCOMP_RET_TRAP), and open_for_us() is called
 * instead. Needed because libdw opens .dwo files and shared debug files (dwz) on its own.
 */
static void answer_open(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;
	int saved = errno;
	uint64_t path, flags;
	int64_t result = -EACCES;

#if defined(__x86_64__)
	greg_t *regs = interrupted->uc_mcontext.gregs;
	bool at = info->si_syscall == SYS_openat;

	path = (uint64_t)regs[at ? REG_RSI : REG_RDI];
	flags = (uint64_t)regs[at ? REG_RDX : REG_RSI];
#elif defined(__aarch64__)
	path = interrupted->uc_mcontext.regs[1];
	flags = interrupted->uc_mcontext.regs[2];
#endif
	if ((flags & (O_ACCMODE | O_CREAT | O_TRUNC)) == O_RDONLY && open_for_us)
		result = open_for_us((const char *)(uintptr_t)path);
#if defined(__x86_64__)
	regs[REG_RAX] = result;
#elif defined(__aarch64__)
	interrupted->uc_mcontext.regs[0] = (uint64_t)result;
#endif
	errno = saved;
}

/* Signals from the terminal are meant for the parent, and the parent's handlers must not run here. */
static void set_signals(void)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2,
				       SIGPIPE };
	struct sigaction action = { .sa_handler = SIG_IGN };
	sigset_t none;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		sigaction(ignored[i], &action, NULL);
	action.sa_flags = SA_SIGINFO | SA_NODEFER;
	action.sa_sigaction = answer_open;
	sigaction(SIGSYS, &action, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

#define LOAD(field)	 BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(what)	 BPF_STMT(BPF_RET | BPF_K, what)
#define ALLOW(call)	 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), RETURN(SECCOMP_RET_ALLOW)
#define TRAP(call)	 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), RETURN(SECCOMP_RET_TRAP)
#define REFUSE		 RETURN(SECCOMP_RET_ERRNO | (EPERM & SECCOMP_RET_DATA))

/* Loads the low half of argument @n of the system call (little-endian machines only). */
#define ARGUMENT(n) LOAD(args[n])

/* Allows the system call @call only if none of the bits in @mask are set in its argument @n. */
#define ALLOW_WITHOUT(call, n, mask)                                                                                 \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 4), ARGUMENT(n),                                           \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, mask, 0, 1), REFUSE, RETURN(SECCOMP_RET_ALLOW)

/*
 * Allows the system call @call only if its argument @n equals @what (if @how is BPF_JEQ) or has any of the bits in
 * @what (if @how is BPF_JSET).
 */
#define ALLOW_IF(call, n, how, what)                                                                                 \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 4), ARGUMENT(n),                                           \
		BPF_JUMP(BPF_JMP | how | BPF_K, what, 1, 0), REFUSE, RETURN(SECCOMP_RET_ALLOW)

/*
 * Installs the system-call filter, which allows what the parser needs. Other calls fail with EPERM instead of killing
 * the process, because a later version of a library may try a call that it can do without. Calls through another ABI
 * (32-bit, x32) use different numbers and do kill the process.
 */
static bool filter_calls(void)
{
	const uint32_t self = (uint32_t)getpid();
	struct sock_filter filter[] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		/* System calls for input and output. */
		ALLOW(read),
		ALLOW(pread64),
		ALLOW(write),
		ALLOW(sendmsg),
		ALLOW(recvmsg),
		ALLOW(lseek),
		ALLOW(close),
		ALLOW(fstat),
		ALLOW_IF(newfstatat, 3, BPF_JSET, 0x1000 /* AT_EMPTY_PATH: the call is an fstat() */),
		ALLOW(readlinkat),
#ifdef SYS_readlink
		ALLOW(readlink),
		TRAP(open),
#endif
		TRAP(openat),
		/* System calls for memory management, but not for executable memory. */
		ALLOW(brk),
		ALLOW(munmap),
		ALLOW(mremap),
		ALLOW(madvise),
		ALLOW_WITHOUT(mmap, 2, PROT_EXEC),
		ALLOW_WITHOUT(mprotect, 2, PROT_EXEC),
		/*
		 * Other system calls that the confined process's libraries make: for locks, time, signals and the like.
		 */
		ALLOW(futex),
		ALLOW(getrandom),
		ALLOW(sysinfo),
		ALLOW(clock_gettime),
		ALLOW(getpid),
		ALLOW(gettid),
		ALLOW(rt_sigreturn),
		ALLOW(rt_sigaction),
		ALLOW(rt_sigprocmask),
		ALLOW(restart_syscall),
		ALLOW_IF(fcntl, 1, BPF_JEQ, F_GETFD),
		/* System calls that terminate the process. */
		ALLOW_IF(tgkill, 0, BPF_JEQ, self),
		ALLOW(exit),
		ALLOW(exit_group),
		REFUSE,
	};
	const struct sock_fprog program = { .len = sizeof(filter) / sizeof(filter[0]), .filter = filter };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

unsigned int mf_confine(int socket, int file, unsigned int cpu_s, int (*open)(const char *path))
{
	unsigned int given_up = 0;

	open_for_us = open;
	set_signals();
	offer_to_oom_killer();
	/*
	 * Close descriptors before setting the limits: @socket may be above the limit if massif-ctl has many open
	 * files.
	 */
	close_others(socket, file);
	unmap_shared();
	set_limits(cpu_s);
	given_up |= drop_user() ? MF_CONFINED_USER : 0;
	given_up |= drop_capabilities() ? MF_CONFINED_CAPABILITIES : 0;
	given_up |= prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? MF_CONFINED_EXEC : 0;
	/* Prevents other processes of the same user from reading or changing our memory. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	given_up |= filter_calls() ? MF_CONFINED_CALLS : 0;
	return given_up;
}
