// SPDX-License-Identifier: GPL-2.0
// Looks at the clock for the program: an event costs less than asking for the time.

#include "timekeeper.h"

#include <time.h>

#include "model/model.h"
#include "model/tally.h"

enum {
	NOT_BEGUN_MS = 1, /* how often to look while the program has not begun, */
	LONGEST_MS = 50,  /* and at least */
	IDLE_PART = 32,	  /* how late a snapshot may come after a long rest, in parts of that rest */
};

int64_t mf_timekeeper_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int within(int64_t period)
{
	return period < 1 ? 1 : period > LONGEST_MS ? LONGEST_MS : (int)period;
}

/* Since the first event, with the precision that the program's own look at the clock does not have. */
static int64_t passed_since(uint64_t first_time_ns)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return ((int64_t)now.tv_sec * 1000000000 + now.tv_nsec - (int64_t)first_time_ns) / 1000000;
}

int mf_timekeeper_look(struct mf_store *store)
{
	const struct mf_model *model = mf_model_of(store);
	int64_t next, passed;

	if (model->options.time_unit != MF_TIME_MS)
		return -1;
	if (!__atomic_load_n(&store->header->pid, __ATOMIC_ACQUIRE))
		return NOT_BEGUN_MS;
	next = __atomic_load_n(&model->next_allowed, __ATOMIC_RELAXED);
	passed = passed_since(store->header->first_time_ns);
	__atomic_store_n(&store->header->seen_ms, passed, __ATOMIC_RELAXED);
	if (passed < next)
		return within(next - passed);
	mf_tally_hurry(store);
	/*
	 * It will be taken with the next event, whenever that is, and the one after it is due no sooner
	 * than an interval later: so with one look an interval none comes late. Each look wakes a
	 * processor, though, and a server may rest for long.
	 */
	return within(model->interval + (passed - next) / IDLE_PART);
}
