// SPDX-License-Identifier: GPL-2.0
// Keeps the names of threads up to date whose stacks are kept apart (--separate-threads).
//
// A thread's name at the time of its first event is read then (stack/context.c). Later changes are seen because prctl()
// (prctl.c) and pthread_setname_np() are the shim's. The program's calls are passed on unchanged.

#include "thread_name.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "model/thread_table.h"
#include "core/thread.h"

#define EXPORT __attribute__((visibility("default")))

static void note(const struct mf_thread *thread, const char *name)
{
	char copy[MF_THREAD_NAME_SIZE] = "";

	/* Memory after the NUL might not be readable. */
	for (size_t i = 0; i < sizeof(copy) - 1 && name[i]; i++)
		copy[i] = name[i];
	mf_thread_table_rename(&mf_session_store, thread->root, copy);
}

void mf_thread_name_note(const char *name)
{
	const struct mf_thread *thread = mf_thread_local.thread;

	if (thread && thread->root != MF_NODE_ROOT)
		note(thread, name);
}

EXPORT int pthread_setname_np(pthread_t self, const char *name)
{
	static int (*real)(pthread_t self, const char *name);
	int (*next)(pthread_t self, const char *name) = __atomic_load_n(&real, __ATOMIC_ACQUIRE);
	int code;

	/* The program calls this function, so there is another definition, in libpthread or libc. */
	if (!next) {
		next = (int (*)(pthread_t, const char *))dlsym(RTLD_NEXT, "pthread_setname_np");
		if (!next)
			return ENOSYS;
		__atomic_store_n(&real, next, __ATOMIC_RELEASE);
	}
	code = next(self, name);
	if (code || !mf_session_store.header || !mf_session_store.header->separates_threads)
		return code;
	for (struct mf_thread_private *private = mf_thread_all(); private; private = private->made_before)
		if (private->thread->root != MF_NODE_ROOT && pthread_equal(private->self, self))
			note(private->thread, name);
	return code;
}
