// SPDX-License-Identifier: GPL-2.0
// Keeps the names of threads up to date, if the profile tells threads apart.
//
// A thread's name at the time of its first event is read then (core/thread.c, stack/context.c). Later changes are seen
// because prctl() (prctl.c) and pthread_setname_np() are the shim's. The program's calls are passed on unchanged.

#include "thread_name.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "model/thread_table.h"
#include "core/real.h"
#include "core/start.h"
#include "core/thread.h"

#define EXPORT __attribute__((visibility("default")))

/* Returns whether the thread is one that the profile tells apart. */
static bool is_known(const struct mf_thread_private *private)
{
	return private->thread->root != MF_NODE_ROOT || private->number;
}

static void note(const struct mf_thread_private *private, const char *name)
{
	char copy[MF_THREAD_NAME_SIZE] = "";

	/* Memory after the NUL might not be readable. */
	for (size_t i = 0; i < sizeof(copy) - 1 && name[i]; i++)
		copy[i] = name[i];
	mf_thread_table_rename(&mf_session_store, private->thread->root, copy);
	mf_thread_table_set_name(&mf_session_store, private->number, copy);
}

void mf_thread_name_note(const char *name)
{
	const struct mf_thread *thread = mf_thread_local.thread;

	if (thread && is_known(thread->private))
		note(thread->private, name);
}

static bool knows_threads(void)
{
	const struct mf_store_header *header = mf_session_store.header;

	return header && (header->separates_threads || header->counts_threads);
}

EXPORT int pthread_setname_np(pthread_t self, const char *name)
{
	int (*real)(pthread_t self, const char *name);
	int code;

	mf_start();
	real = mf_real_pthread_setname_np();
	if (!real)
		return ENOSYS;
	code = real(self, name);
	if (code || !knows_threads())
		return code;
	for (struct mf_thread_private *private = mf_thread_all(); private; private = private->made_before)
		if (is_known(private) && pthread_equal(private->self, self))
			note(private, name);
	return code;
}
