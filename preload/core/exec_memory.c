// SPDX-License-Identifier: GPL-2.0
// Memory for what is given to an executed program, if it is too large for the stack of the thread that executes it.
//
// A child of vfork() has the state of the thread that called vfork(), which waits until the child has executed a program or
// has ended. So what a child has left there is no longer in use once that thread runs again. The state is not in
// thread-local variables, because little room is left for those when massif-ctl attaches to a process.

#include "exec_memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "own_memory.h"
#include "seccomp.h"
#include "thread.h"

/* NULL if the current thread has not had an event yet, and so has no state. */
static struct mf_exec_memory *state(void)
{
	return mf_thread_local.thread ? &mf_thread_local.thread->private->exec_memory : NULL;
}

static void unmap(void *at, size_t bytes)
{
	int saved = errno;

	mf_own_memory_forget(at);
	munmap(at, bytes);
	errno = saved;
}

/* Unmaps what a child has left, unless the current process is that child. */
static void unmap_left(struct mf_exec_memory *memory, pid_t self)
{
	struct mf_exec_memory left = *memory;

	if (!left.at || left.taker == self)
		return;
	memory->at = NULL;
	unmap(left.at, left.bytes);
}

void *mf_exec_memory_take(size_t bytes)
{
	/* A sandbox may forbid getpid(), since malloc never calls it. What is left there stays mapped. */
	struct mf_exec_memory *memory = mf_seccomp_is_on() ? NULL : state();
	pid_t self = memory ? getpid() : 0;
	int saved = errno;
	void *at;

	if (memory)
		unmap_left(memory, self);
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	errno = saved;
	if (at == MAP_FAILED)
		return NULL;
	mf_own_memory_note(at, bytes);
	/* A signal handler may have interrupted a call for which the current process has taken memory. */
	if (memory && !memory->at)
		*memory = (struct mf_exec_memory){ at, bytes, self };
	return at;
}

void mf_exec_memory_give_back(void *at, size_t bytes)
{
	struct mf_exec_memory *memory = state();

	if (!at)
		return;
	if (memory && memory->at == at)
		memory->at = NULL;
	unmap(at, bytes);
}

void mf_exec_memory_thread_ended(struct mf_exec_memory *memory)
{
	if (memory->at && !mf_seccomp_is_on())
		unmap_left(memory, getpid());
	/* Another thread is going to use the state. */
	memory->at = NULL;
}
