// SPDX-License-Identifier: GPL-2.0
// The shim's end of the session.

#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "protocol/join.h"
#include "model/blocks.h"
#include "model/model.h"
#include "patch/object_loaded.h"
#include "clock.h"
#include "stack/depth.h"
#include "process/environment.h"
#include "process/follow.h"
#include "own_memory.h"
#include "process/fork.h"
#include "join.h"
#include "cxx_library.h"
#include "process/limits.h"
#include "objects.h"
#include "real.h"
#include "patch/requests.h"
#include "stack/rowcache.h"
#include "seccomp.h"
#include "stack/context.h"
#include "start.h"
#include "process/syscall.h"
#include "patch/takeover.h"
#include "thread.h"
#include "event/trace.h"
#include "stack/verify.h"
#include "xstate.h"

struct mf_store mf_session_store;

static const int never_active;
const volatile int *mf_session_active_word = &never_active;

static int attach_started;
static int *active_word; /* the same, for writing */
static int active_value; /* what it is, or was in the parent */

/* The initial stack, which begins with the number of arguments and these. */
extern void *__libc_stack_end;

static int *make_active_word(void)
{
	size_t size = (size_t)getauxval(AT_PAGESZ);
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED || madvise(page, size, MADV_WIPEONFORK))
		return NULL;
	mf_own_memory_add(size);
	return page;
}

/*
 * The descriptor of the session's memory, or a negative number: massif-ctl's own for the program that
 * it started, or what it gives to one that is executed later.
 */
static int find_memory(char *value, char **rest, int *trace)
{
	int fd = mf_join_read(value, rest);

	*trace = -1;
	if (fd >= 0 || !*rest)
		return fd;
	return mf_join_executed(*(long *)__libc_stack_end, (char **)__libc_stack_end + 1, trace);
}

/* What the program executes finds the shim, too, and asks for a session of its own. */
static void keep_environment(char *value, const char *rest, const char *preload)
{
	memmove(value, rest, strlen(rest) + 1);
	if (preload)
		mf_follow_start(preload, value);
}

/* What the word is to say. */
static int wanted(void)
{
	const struct mf_store_header *header = mf_session_store.header;

	return MF_SESSION_ACTIVE | (header->keeps_ledger ? MF_SESSION_LEDGER : 0) |
	       (header->counts_stacks ? MF_SESSION_STACKS : 0) |
	       (header->leaves_heap ? MF_SESSION_NO_HEAP : 0);
}

#define GAP_BYTES (1u << 20)

static void attach(void)
{
	char *value = mf_environment_find(MF_JOIN_VARIABLE), *rest = NULL;
	int fd, trace, *active;
	bool is_attached;
	void *gap;

	if (!value)
		return;
	mf_limits_raise();
	fd = find_memory(value, &rest, &trace);
	active = make_active_word();
	/* The session's memory would come to lie right below the objects. There is to be room for mf_patch_room(). */
	gap = mmap(NULL, GAP_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	is_attached = fd >= 0 && active && !mf_store_attach(&mf_session_store, fd, NULL);
	if (gap != MAP_FAILED)
		munmap(gap, GAP_BYTES);
	mf_limits_settle();
	if (!is_attached) {
		/* massif-ctl sees that nobody attached and says so. */
		mf_environment_clean();
		close(fd);
		return;
	}
	close(fd);
	if (rest && mf_session_store.header->traces_children)
		keep_environment(value, rest, mf_environment_find("LD_PRELOAD"));
	else
		mf_environment_clean();
	if (trace >= 0)
		mf_session_store.header->trace_fd = trace;
	if (rest)
		mf_fork_start();
	mf_clock_start();
	mf_depth_start();
	mf_stack_start();
	mf_objects_scan();
	mf_rowcache_open(&mf_session_store);
	mf_requests_start();
	/* Before functions are taken over: how depends on it. Nothing is traced while the session is not active. */
	mf_trace_start(mf_session_store.header->trace_fd,
		       mf_session_store.header->logs_steps >= MF_LOG_FILTERING);
	mf_session_store.header->late_objects_error = mf_object_loaded_start();
	mf_blocks_set_distance(&mf_session_store,
			       mf_takeover_is_any() ? MF_TAKEOVER_DISTANCE : mf_real_distance());
	mf_model_attempt(&mf_session_store, 0);
	__atomic_store_n(&mf_session_store.header->pid, getpid(), __ATOMIC_RELEASE);
	*active = active_value = wanted();
	active_word = active;
	__atomic_store_n(&mf_session_active_word, (const volatile int *)active, __ATOMIC_RELEASE);
}

void mf_session_executing(bool begins)
{
	struct mf_store_header *header = mf_session_store.header;

	if (mf_session_is_active() && !mf_seccomp_is_on() && header->pid == getpid())
		__atomic_store_n(&header->executes, begins, __ATOMIC_RELAXED);
}

static int counting(int said, bool counts)
{
	return counts ? said & ~MF_SESSION_STOPPED : said | MF_SESSION_STOPPED;
}

void mf_session_count(bool counts)
{
	int said = *mf_session_active_word;

	/* Others may change it, too: what is not active must not become so. */
	do {
		if (!said)
			return;
	} while (!__atomic_compare_exchange_n(active_word, &said, counting(said, counts), false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	active_value = counting(said, counts);
}

bool mf_session_continue(int memory)
{
	return active_word && !mf_store_attach_again(&mf_session_store, memory);
}

void mf_session_resume(void)
{
	*active_word = active_value;
}

void mf_session_deactivate(void)
{
	*active_word = 0;
}

void mf_session_activate(void)
{
	__atomic_store_n(&mf_session_store.header->pid, getpid(), __ATOMIC_RELEASE);
	mf_trace_start(mf_session_store.header->trace_fd,
		       mf_session_store.header->logs_steps >= MF_LOG_FILTERING);
}

void mf_session_attach(void)
{
	int saved = errno;

	/* The first event comes while there is one thread: nobody can be overtaken here. */
	if (__atomic_exchange_n(&attach_started, 1, __ATOMIC_ACQ_REL))
		return;
	mf_thread_local.inside = true;
	mf_syscall_start();
	mf_cxx_library_start();
	mf_xstate_start();
	attach();
	mf_thread_local.inside = false;
	errno = saved;
}

__attribute__((constructor)) static void start(void)
{
	mf_start();
	mf_session_attach();
	if (!mf_session_is_active() || mf_session_store.header->verify != MF_VERIFY_STACKS)
		return;
	/*
	 * Not before: the dynamic linker must be ready to load another object. That has the C library's
	 * constructor run, with the environment that it knows of.
	 */
	environ = mf_environment();
	if (mf_verify_start()) {
		active_value |= MF_SESSION_VERIFIES;
		*active_word = active_value;
	}
}
