// SPDX-License-Identifier: GPL-2.0
// Memory for what is given to an executed program, if it is too large for the stack of the thread that executes it.
//
// A child of vfork() has the thread-local variables of the thread that called vfork(), which waits until the child has
// executed a program or has ended. So what a child has left there is no longer in use once that thread runs again.

#include "exec_memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "own_memory.h"
#include "seccomp.h"

struct taken {
	void *at; /* NULL: none */
	size_t bytes;
	pid_t taker;
};

static __thread struct taken taken __attribute__((tls_model("initial-exec")));

static void unmap(void *at, size_t bytes)
{
	int saved = errno;

	mf_own_memory_forget(at);
	munmap(at, bytes);
	errno = saved;
}

/* Unmaps what a child has left, unless the current process is that child. */
static void unmap_left(pid_t self)
{
	struct taken left = taken;

	if (!left.at || left.taker == self)
		return;
	taken.at = NULL;
	unmap(left.at, left.bytes);
}

void *mf_exec_memory_take(size_t bytes)
{
	/* A sandbox may forbid getpid(), since malloc never calls it. What is left there stays mapped. */
	pid_t self = mf_seccomp_is_on() ? 0 : getpid();
	int saved = errno;
	void *at;

	if (self)
		unmap_left(self);
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	errno = saved;
	if (at == MAP_FAILED)
		return NULL;
	mf_own_memory_note(at, bytes);
	/* A signal handler may have interrupted a call for which the current process has taken memory. */
	if (self && !taken.at)
		taken = (struct taken){ at, bytes, self };
	return at;
}

void mf_exec_memory_give_back(void *memory, size_t bytes)
{
	if (!memory)
		return;
	if (taken.at == memory)
		taken.at = NULL;
	unmap(memory, bytes);
}

void mf_exec_memory_thread_ended(void)
{
	if (taken.at && !mf_seccomp_is_on())
		unmap_left(getpid());
}
