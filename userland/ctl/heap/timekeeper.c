// SPDX-License-Identifier: GPL-2.0
// Reads the clock on behalf of the program, because reading it at each event would cost more than the event
// itself.

#include "timekeeper.h"

#include <time.h>

#include "model/model.h"
#include "model/tally.h"

enum {
	NOT_BEGUN_MS = 1, /* interval between checks while the shim has not attached yet */
	LONGEST_MS = 50,  /* maximum interval between checks of whether a snapshot is due */
	IDLE_PART = 32,	  /* after an idle period, a snapshot may be late by up to 1/32 of that period */
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

/* Returns the milliseconds since the first event. Uses the precise clock; the shim's is coarser. */
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
	 * A snapshot is due, and the program will take it at its next event. The snapshot after that will be due no
	 * sooner than one interval later, so checking the clock once per interval is enough. But each check wakes up a
	 * CPU, and a server may be idle for a long time, so the longer the program has been idle, the longer the time
	 * between two checks.
	 */
	return within(model->interval + (passed - next) / IDLE_PART);
}
