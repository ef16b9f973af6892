// SPDX-License-Identifier: GPL-2.0
// A thread that watches for reasons to sample the resident set of a process.

#include "sample_watch.h"

#include <linux/futex.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "model/model.h"

/* How often the thread looks for snapshots, and the most that it rests. The end of the process wakes it at once. */
#define PERIOD_NS 5000000ul
#define REST_NS	  50000000ul

static uint32_t *word_of(const struct mf_store *store)
{
	return &store->header->ending;
}

static uint32_t snapshots_of(const struct mf_store *store)
{
	const struct mf_model *model = mf_model_of(store);

	return __atomic_load_n(&model->detailed_snapshots, __ATOMIC_RELAXED) +
	       __atomic_load_n(&model->peak_snapshots, __ATOMIC_RELAXED);
}

static void wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 2, NULL, NULL, 0);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t period_ns(const struct mf_sample_watch *watch)
{
	uint64_t rested = __atomic_load_n(&watch->rested_ns, __ATOMIC_RELAXED), now = rested ? now_ns() : 0;
	uint64_t left = rested > now ? rested - now : 0;

	return left < PERIOD_NS ? PERIOD_NS : left > REST_NS ? REST_NS : left;
}

void mf_sample_watch_rest(struct mf_sample_watch *watch, uint64_t ms)
{
	__atomic_store_n(&watch->rested_ns, now_ns() + ms * 1000000, __ATOMIC_RELAXED);
}

/* A thread's list of robust futexes with one entry, in place of the C library's, which this thread does not use. */
struct watcher {
	struct robust_list_head head, *before;
	struct robust_list entry;
	uint32_t *word;
};

/*
 * Lets the kernel tell the program when massif-ctl is killed: as the owner of a robust futex (set_robust_list(2)), of which
 * only the word is in the session memory. The list is in massif-ctl's own memory, where the program cannot change it.
 */
static void own(struct watcher *watcher)
{
	size_t size;

	watcher->entry.next = &watcher->head.list;
	watcher->head = (struct robust_list_head){
		.list.next = &watcher->entry,
		.futex_offset = (long)((uintptr_t)watcher->word - (uintptr_t)&watcher->entry),
	};
	if (syscall(SYS_get_robust_list, 0, &watcher->before, &size))
		watcher->before = NULL;
	__atomic_store_n(watcher->word, (uint32_t)gettid(), __ATOMIC_RELEASE);
	syscall(SYS_set_robust_list, &watcher->head, sizeof(watcher->head));
}

static void disown(struct watcher *watcher)
{
	syscall(SYS_set_robust_list, watcher->before, sizeof(watcher->head));
	__atomic_store_n(watcher->word, 0, __ATOMIC_RELEASE);
}

static void *look(void *data)
{
	const struct mf_sample_watch *watch = data;
	struct watcher watcher = { .word = &watch->store->header->watcher };
	uint32_t *word = word_of(watch->store), seen = snapshots_of(watch->store);

	own(&watcher);
	while (!__atomic_load_n(&watch->stop, __ATOMIC_ACQUIRE)) {
		uint32_t value = __atomic_load_n(word, __ATOMIC_ACQUIRE), snapshots = snapshots_of(watch->store);
		const struct timespec period = { .tv_nsec = (long)period_ns(watch) };

		/* The main thread reads signals from a descriptor. After SIGCHLD, it looks at all processes. */
		if (value == MF_ENDING_WAITS || snapshots != seen)
			kill(getpid(), SIGCHLD);
		seen = snapshots;
		syscall(SYS_futex, word, FUTEX_WAIT, value, &period, NULL, 0);
	}
	disown(&watcher);
	return NULL;
}

void mf_sample_watch_start(struct mf_sample_watch *watch, const struct mf_store *store)
{
	sigset_t all, before;
	uint32_t ignored = MF_ENDING_IGNORED;

	if (watch->started)
		return;
	*watch = (struct mf_sample_watch){ .store = store };
	__atomic_store_n(&store->header->watcher, 0, __ATOMIC_RELEASE);
	/* Only the main thread handles signals, so block them in the new thread, which inherits the mask. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	watch->started = !pthread_create(&watch->thread, NULL, look, watch);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (watch->started)
		__atomic_compare_exchange_n(word_of(store), &ignored, MF_ENDING_AWAITED, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED);
}

void mf_sample_watch_stop(struct mf_sample_watch *watch)
{
	uint32_t awaited = MF_ENDING_AWAITED;

	if (!watch->started)
		return;
	__atomic_compare_exchange_n(word_of(watch->store), &awaited, MF_ENDING_IGNORED, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
	__atomic_store_n(&watch->stop, true, __ATOMIC_RELEASE);
	wake(word_of(watch->store));
	pthread_join(watch->thread, NULL);
	*watch = (struct mf_sample_watch){ 0 };
}

bool mf_sample_watch_has_end(const struct mf_store *store)
{
	uint32_t waits = MF_ENDING_WAITS;

	return __atomic_compare_exchange_n(word_of(store), &waits, MF_ENDING_SAMPLED, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

void mf_sample_watch_answer(const struct mf_store *store)
{
	__atomic_store_n(word_of(store), MF_ENDING_OVER, __ATOMIC_RELEASE);
	wake(word_of(store));
}
