// SPDX-License-Identifier: GPL-2.0
// A question from the program to the aggregator: does a new context count?

#include "model/consult.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How often someone who waits for an answer looks whether there is still someone to give it. */
#define PATIENCE_MS 200
/* So often nobody may be there at all: the aggregator has not begun, or forks to go on in the background. */
#define ABSENCES_MAX 50

/* The word is shared by two processes. Returns early, too: callers look again. */
static void wait_while(uint32_t *word, uint32_t value, int timeout_ms)
{
	struct timespec timeout = {
		.tv_sec = timeout_ms / 1000,
		.tv_nsec = timeout_ms % 1000 * 1000000l,
	};

	syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, NULL, 0);
}

static void wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* The mutex's futex, which the kernel knows, too. */
static uint32_t holder_of(const struct mf_store_header *header)
{
	return (uint32_t)__atomic_load_n(&header->consultant.__data.__lock, __ATOMIC_ACQUIRE);
}

static bool is_dead(const struct mf_store_header *header)
{
	return holder_of(header) & FUTEX_OWNER_DIED;
}

static bool is_absent(const struct mf_store_header *header)
{
	return !(holder_of(header) & FUTEX_TID_MASK);
}

/* Without a system call; the consultant looks for questions every now and then by itself. */
static void wait_busily(const struct mf_store_header *header)
{
	while (__atomic_load_n(&header->answer, __ATOMIC_ACQUIRE) == MF_ANSWER_PENDING && !is_dead(header))
		;
}

bool mf_consult_ask(struct mf_store *store, uint32_t context)
{
	struct mf_store_header *header = store->header;
	uint32_t answer, absences = 0;
	/* The program's, whose malloc this is a part of. */
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
		if (!header->may_not_wait)
			wait_while(&header->answer, MF_ANSWER_PENDING, PATIENCE_MS);
		if (is_dead(header) || (is_absent(header) && ++absences == ABSENCES_MAX)) {
			header->consults = 0;
			answer = MF_ANSWER_COUNTS;
			break;
		}
	}
	errno = saved;
	return answer != MF_ANSWER_IGNORED;
}

uint32_t mf_consult_wait(struct mf_store *store, int timeout_ms)
{
	uint32_t question = __atomic_load_n(&store->header->question, __ATOMIC_ACQUIRE);

	if (question)
		return question;
	wait_while(&store->header->question, 0, timeout_ms);
	return __atomic_load_n(&store->header->question, __ATOMIC_ACQUIRE);
}

void mf_consult_answer(struct mf_store *store, enum mf_answer answer)
{
	__atomic_store_n(&store->header->question, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&store->header->answer, answer, __ATOMIC_RELEASE);
	wake(&store->header->answer);
}
