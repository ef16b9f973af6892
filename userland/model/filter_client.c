// SPDX-License-Identifier: GPL-2.0
// Asks the aggregator whether a new context is to be counted.

#include "filter_client.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	PATIENCE_MS = 200,    /* interval at which the program checks that the filter server still exists */
	LONGEST_MS = 60000,   /* how long the program waits for the answer of an existing filter server */
	/*
	 * how long the program waits for a filter server to appear; there is none while massif-ctl hands over to
	 * another process
	 */
	VACANT_MS = 3000,
};

/*
 * Waits while *@word is @value. The word is shared by two processes. Returns true if the wait timed out; may return
 * false early.
 */
static bool wait_while(uint32_t *word, uint32_t value, int timeout_ms)
{
	struct timespec timeout = {
		.tv_sec = timeout_ms / 1000,
		.tv_nsec = timeout_ms % 1000 * 1000000l,
	};

	return syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, NULL, 0) < 0 &&
	       errno == ETIMEDOUT;
}

static void wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/*
 * Returns the maximum time to wait for the filter server's answer, in milliseconds. The time is shorter if there is
 * currently no server, and 0 if the server has died.
 */
static int patience(const struct mf_store_header *header)
{
	uint32_t filter_server = __atomic_load_n(&header->filter_server, __ATOMIC_ACQUIRE);

	if (filter_server & FUTEX_OWNER_DIED)
		return 0;
	return filter_server ? LONGEST_MS : VACANT_MS;
}

/*
 * Waits for the answer without making a system call. The filter server also polls for queries, so it needs no wake-up.
 */
static void wait_busily(const struct mf_store_header *header)
{
	while (__atomic_load_n(&header->answer, __ATOMIC_ACQUIRE) == MF_ANSWER_PENDING && patience(header))
		;
}

bool mf_filter_client_ask(struct mf_store *store, uint32_t context)
{
	struct mf_store_header *header = store->header;
	int waited = 0;
	uint32_t answer;
	/* The caller is malloc(), which must not change the program's errno. */
	int saved = errno;

	__atomic_store_n(&header->answer, MF_ANSWER_PENDING, __ATOMIC_RELAXED);
	__atomic_store_n(&header->question, context, __ATOMIC_RELEASE);
	if (!header->may_not_wait)
		wake(&header->question);
	for (;;) {
		if (header->may_not_wait)
			wait_busily(header);
		answer = __atomic_load_n(&header->answer, __ATOMIC_ACQUIRE);
		if (answer != MF_ANSWER_PENDING)
			break;
		if (waited >= patience(header)) {
			header->consults = 0;
			header->unanswered = 1;
			answer = MF_ANSWER_COUNTS;
			break;
		}
		/* Count interrupted waits, too, so that frequent signals cannot prolong the wait indefinitely. */
		waited += wait_while(&header->answer, MF_ANSWER_PENDING, PATIENCE_MS) ? PATIENCE_MS : 1;
	}
	errno = saved;
	return answer != MF_ANSWER_IGNORED;
}

_Static_assert(sizeof(((struct mf_filter_client_seat *)0)->list) == sizeof(struct robust_list_head),
	       "the kernel's structure");

void mf_filter_client_sit(struct mf_store *store, struct mf_filter_client_seat *seat)
{
	uint32_t *word = &store->header->filter_server;

	seat->entry.next = &seat->list;
	seat->list.next = &seat->entry;
	seat->list.offset = (char *)word - (char *)&seat->entry;
	seat->list.pending = NULL;
	syscall(SYS_set_robust_list, &seat->list, sizeof(seat->list));
	__atomic_store_n(word, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
}

void mf_filter_client_leave(struct mf_store *store, struct mf_filter_client_seat *seat)
{
	__atomic_store_n(&store->header->filter_server, 0, __ATOMIC_RELEASE);
	seat->list.next = &seat->list;
}

uint32_t mf_filter_client_wait(struct mf_store *store, int timeout_ms)
{
	uint32_t question = __atomic_load_n(&store->header->question, __ATOMIC_ACQUIRE);

	if (question)
		return question;
	wait_while(&store->header->question, 0, timeout_ms);
	return __atomic_load_n(&store->header->question, __ATOMIC_ACQUIRE);
}

void mf_filter_client_answer(struct mf_store *store, enum mf_answer answer)
{
	__atomic_store_n(&store->header->question, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&store->header->answer, answer, __ATOMIC_RELEASE);
	wake(&store->header->answer);
}
