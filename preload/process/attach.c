// SPDX-License-Identifier: GPL-2.0
// Start-up: finds the session memory and starts all parts of the shim.

#include "attach.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/blocks.h"
#include "model/model.h"
#include "protocol/join.h"
#include "core/clock.h"
#include "core/cxx_library.h"
#include "core/join.h"
#include "core/libc.h"
#include "core/objects.h"
#include "core/own_memory.h"
#include "core/own_object.h"
#include "core/process_id.h"
#include "core/real.h"
#include "core/session.h"
#include "core/start.h"
#include "core/thread.h"
#include "core/xstate.h"
#include "stack/context.h"
#include "stack/depth.h"
#include "stack/rowcache.h"
#include "stack/verify.h"
#include "event/trace.h"
#include "patch/object_loaded.h"
#include "patch/redirect.h"
#include "patch/requests.h"
#include "patch/takeover.h"
#include "environment.h"
#include "follow.h"
#include "fork.h"
#include "late.h"
#include "limits.h"
#include "syscall.h"

/* The initial stack, which begins with the argument count, followed by the arguments. */
extern void *__libc_stack_end;

/*
 * Returns the descriptor of the session memory, or a negative number. The program that massif-ctl starts inherits the
 * descriptor; a program that is executed later has to ask massif-ctl for one.
 */
static int find_memory(char *value, char **rest, int *trace)
{
	int fd = mf_join_read(value, rest);

	*trace = -1;
	if (fd >= 0 || !*rest)
		return fd;
	return mf_join_executed(*(long *)__libc_stack_end, (char **)__libc_stack_end + 1, trace);
}

/* Keeps massif-ctl's variables, so that programs executed by this one load the shim and ask for their own sessions. */
static void keep_environment(char *value, const char *rest, const char *shim)
{
	memmove(value, rest, strlen(rest) + 1);
	if (*shim)
		mf_follow_start(shim, value);
}

#define GAP_BYTES (1u << 20)

/* Maps the session memory @fd. Returns false on failure. */
static bool map_session(int fd)
{
	bool has_word = mf_session_make_word(), attached;
	/*
	 * mf_patch_room() needs the address range right below the loaded objects. Reserve it, so that the session
	 * memory is not mapped there.
	 */
	void *gap = mmap(NULL, GAP_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	attached = fd >= 0 && has_word && !mf_store_attach(&mf_session_store, fd, NULL);
	if (gap != MAP_FAILED)
		munmap(gap, GAP_BYTES);
	return attached;
}

static void attach_session(void)
{
	char *value = mf_environment_find(MF_JOIN_VARIABLE), *rest = NULL;
	const struct link_map *own = mf_own_object();
	const char *shim = own ? own->l_name : "";
	int fd, trace;
	bool attached;

	if (!value)
		return;
	mf_process_id_note();
	mf_limits_raise();
	fd = find_memory(value, &rest, &trace);
	attached = map_session(fd);
	mf_limits_settle();
	close(fd);
	if (!attached) {
		/* Print no message: massif-ctl notices, and reports that no process attached to the session. */
		mf_environment_clean(shim);
		return;
	}
	if (rest && mf_session_store.header->traces_children)
		keep_environment(value, rest, shim);
	else
		mf_environment_clean(shim);
	if (trace >= 0)
		mf_session_store.header->trace_fd = trace;
	if (rest)
		mf_fork_start();
	mf_own_memory_note_image();
	mf_clock_start();
	mf_depth_start();
	mf_stack_start();
	mf_objects_scan();
	mf_rowcache_open(&mf_session_store);
	mf_requests_start();
	/*
	 * mf_session_traces must be set before functions are taken over, because takeover.c tests it. No call is
	 * reported until the session is active.
	 */
	mf_trace_start();
	mf_session_store.header->late_objects_error = mf_object_loaded_start();
	mf_blocks_set_distance(&mf_session_store,
			       mf_takeover_is_any() ? MF_TAKEOVER_DISTANCE : mf_real_distance());
	mf_model_attempt(&mf_session_store, 0);
	__atomic_store_n(&mf_session_store.header->pid, getpid(), __ATOMIC_RELEASE);
	mf_session_begin();
}

void mf_attach(void)
{
	static int started;
	int saved = errno;

	/*
	 * Start the shim only once. No lock is needed for this, because the first event occurs while the process has
	 * one thread.
	 */
	if (__atomic_exchange_n(&started, 1, __ATOMIC_ACQ_REL))
		return;
	mf_thread_local.inside = true;
	mf_syscall_start();
	mf_cxx_library_start();
	mf_xstate_start();
	attach_session();
	mf_thread_local.inside = false;
	errno = saved;
}

MF_AT_FIRST_EVENT(mf_attach);

/*
 * Loads libunwind for checking stacks. Returns NULL if libunwind is not installed, if its functions could not be
 * redirected, or if the C library is too old.
 */
static void *load_libunwind(void)
{
	void *handle = mf_libc_has_dlsym ? dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL) : NULL;
	const struct link_map *object = handle;

	for (size_t i = 0; object && i < MF_VERIFY_FUNCTIONS; i++)
		if (!mf_redirect(object->l_addr, mf_verify_functions[i].name, mf_verify_functions[i].ours))
			return NULL;
	return handle;
}

__attribute__((constructor)) static void start(void)
{
	if (mf_late_is_wanted()) {
		mf_late_start();
		return;
	}
	mf_start();
	mf_attach();
	if (!mf_session_is_active() || mf_session_store.header->verify != MF_VERIFY_STACKS)
		return;
	/*
	 * libunwind cannot be loaded before this point, because the dynamic linker must be ready to load another
	 * object. The C library's constructor has not run yet; loading libunwind runs it and passes it @environ as the
	 * environment. So set @environ first.
	 */
	environ = mf_environment();
	if (mf_verify_start(load_libunwind()))
		mf_session_verify();
}
