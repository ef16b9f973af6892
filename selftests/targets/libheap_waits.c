// SPDX-License-Identifier: GPL-2.0
// A library whose constructor starts a thread and waits for it. The thread gives itself a name.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

static void *work(void *data)
{
	if (pthread_setname_np(pthread_self(), "worker"))
		abort();
	return data;
}

__attribute__((constructor)) static void start(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
		abort();
}
