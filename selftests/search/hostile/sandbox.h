/* SPDX-License-Identifier: GPL-2.0 */
/* Building blocks of hostile programs: sandboxes, which forbid certain actions for the rest of the program. */
#ifndef MASSIF_SELFTESTS_SANDBOX_H
#define MASSIF_SELFTESTS_SANDBOX_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "processes.h"
#include "state.h"

/* Frees enough memory that malloc() will not need system calls once they are forbidden. */
UNUSED static void prepare_heap(void)
{
	static void *blocks[600];

	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mallopt(M_MMAP_THRESHOLD, 1 << 28);
	for (unsigned int i = 0; i < 600; i++)
		blocks[i] = malloc(20000);
	for (unsigned int i = 0; i < 600; i++)
		free(blocks[i]);
}

UNUSED static uint64_t piece_no_tsc(unsigned int p)
{
	uint64_t sum = (uint64_t)prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);

	sum = mix(sum, churn(p, 3000));
	prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
	return sum;
}

/* PR_SET_MDWE: no memory may be both writable and executable. */
UNUSED static uint64_t piece_no_new_code(unsigned int p)
{
	uint64_t sum = (uint64_t)prctl(65, 1, 0, 0, 0);

	sum = mix(sum, churn(p, 300));
	return mix(sum, mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
				MAP_FAILED);
}

UNUSED static uint64_t piece_namespaces(unsigned int p)
{
	uint64_t sum = (uint64_t)unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWPID);
	pid_t pid;

	sum = mix(sum, churn(p, 100));
	pid = fork();
	if (pid == 0) {
		churn(p, 20);
		_exit(getpid());
	}
	sum = mix(sum, (uint64_t)wait_for(pid));
	return mix(sum, churn(p, 100));
}

UNUSED static uint64_t piece_chroot(unsigned int p)
{
	uint64_t sum;
	pid_t pid;

	mkdir("empty", 0755);
	sum = (uint64_t)chroot("empty");
	sum = mix(sum, (uint64_t)chdir("/"));
	sum = mix(sum, churn(p, 300));
	pid = fork();
	if (pid == 0)
		_exit((int)(churn(p, 20) & 63));
	return mix(sum, (uint64_t)wait_for(pid));
}

/* From now on, permits only the system calls that malloc() needs. Any other system call results in @action. */
UNUSED static int forbid(uint32_t action)
{
#define ALLOW(number)                                                         \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),                  \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_write), ALLOW(SYS_brk), ALLOW(SYS_mmap), ALLOW(SYS_munmap), ALLOW(SYS_mremap),
		ALLOW(SYS_mprotect), ALLOW(SYS_madvise), ALLOW(SYS_futex), ALLOW(SYS_exit), ALLOW(SYS_exit_group),
		ALLOW(SYS_rt_sigreturn),
		BPF_STMT(BPF_RET | BPF_K, action),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

UNUSED static uint64_t piece_filter_kills(unsigned int p)
{
	uint64_t sum = (uint64_t)forbid(SECCOMP_RET_KILL_PROCESS);

	return mix(sum, churn(p, 5000));
}

UNUSED static uint64_t piece_filter_refuses(unsigned int p)
{
	uint64_t sum = (uint64_t)forbid(SECCOMP_RET_ERRNO | EPERM);

	return mix(sum, churn(p, 5000));
}

UNUSED static uint64_t piece_strict(unsigned int p)
{
	uint64_t sum;

	prepare_heap();
	sum = (uint64_t)prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
	sum = mix(sum, churn(p, 1000));
	say("strict %llx\n", (unsigned long long)sum);
	syscall(SYS_exit, 0);
	return 0;
}

#endif
