// SPDX-License-Identifier: GPL-2.0
// A thread that tells the program whether to count the blocks of a context, according to --ignore-fn and --alloc-fn.

#include "filter_server.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "model/filter_client.h"
#include "report/context_filter.h"

/* Interval at which the thread checks whether it must stop. */
#define PERIOD_MS 20

struct mf_filter_server {
	struct mf_store *store;
	struct mf_context_filter *context_filter;
	pthread_t thread;
	struct mf_filter_client_seat seat;
	sem_t seated;
	bool started;
	bool stop; /* the thread must end; accessed atomically */
};

bool mf_filter_server_is_needed(const struct mf_options *options)
{
	return options->report.ignore_fns.count || options->report.alloc_fns.count;
}

int mf_filter_server_create(struct mf_store *store, const struct mf_options *options,
			 struct mf_filter_server **filter_server, struct mf_error *err)
{
	struct mf_filter_server *made = calloc(1, sizeof(*made));
	int ret;

	if (!made)
		return mf_error_set(err, -ENOMEM, "out of memory");
	made->store = store;
	ret = mf_context_filter_create(store, false, &options->report, &options->symbolizer, &made->context_filter, err);
	if (ret) {
		free(made);
		return ret;
	}
	store->header->filter_server = 0;
	store->header->consults = 1;
	*filter_server = made;
	return 0;
}

static void *answer(void *data)
{
	struct mf_filter_server *filter_server = data;

	mf_filter_client_sit(filter_server->store, &filter_server->seat);
	sem_post(&filter_server->seated);
	while (!__atomic_load_n(&filter_server->stop, __ATOMIC_ACQUIRE)) {
		uint32_t context = mf_filter_client_wait(filter_server->store, PERIOD_MS);

		if (context)
			mf_filter_client_answer(filter_server->store,
					  mf_context_filter_counts(filter_server->context_filter, context, NULL) ?
						  MF_ANSWER_COUNTS :
						  MF_ANSWER_IGNORED);
	}
	mf_filter_client_leave(filter_server->store, &filter_server->seat);
	return NULL;
}

int mf_filter_server_start(struct mf_filter_server *filter_server, struct mf_error *err)
{
	sigset_t all, before;
	int ret;

	/* Only the main thread handles signals, so block them in the new thread, which inherits the mask. */
	sem_init(&filter_server->seated, 0, 0);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(&filter_server->thread, NULL, answer, filter_server);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ret) {
		/* There is no thread to answer queries, so the program must not wait for an answer. */
		filter_server->store->header->consults = 0;
		mf_filter_client_answer(filter_server->store, MF_ANSWER_COUNTS);
		return mf_error_set(err, -ret,
				    "cannot start a thread, so --ignore-fn and --alloc-fn apply to "
				    "trees only: %s",
				    strerror(ret));
	}
	filter_server->started = true;
	/*
	 * Wait until the new thread has registered itself as the filter server (mf_filter_client_sit()). From then on,
	 * the program notices if massif-ctl is killed, and no longer waits for answers.
	 */
	while (sem_wait(&filter_server->seated))
		;
	return 0;
}

void mf_filter_server_stop(struct mf_filter_server *filter_server)
{
	if (!filter_server->started)
		return;
	__atomic_store_n(&filter_server->stop, true, __ATOMIC_RELEASE);
	pthread_join(filter_server->thread, NULL);
	filter_server->started = filter_server->stop = false;
}

void mf_filter_server_destroy(struct mf_filter_server *filter_server)
{
	if (!filter_server)
		return;
	/*
	 * If the thread was stopped because massif-ctl forked, leave the store as it is: the child process has
	 * restarted the thread, so the program's queries are still being answered.
	 */
	if (filter_server->started) {
		mf_filter_server_stop(filter_server);
		/* The thread has ended, so the program must no longer wait for an answer. */
		filter_server->store->header->consults = 0;
		mf_filter_client_answer(filter_server->store, MF_ANSWER_COUNTS);
	}
	mf_context_filter_destroy(filter_server->context_filter);
	free(filter_server);
}
