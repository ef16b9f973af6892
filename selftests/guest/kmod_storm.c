// SPDX-License-Identifier: GPL-2.0
// Disturbs the kernel or a process that is a member of a session. The profiled process must keep running, and the
// accounting of its memory must remain exact.
//
// MASSIF_STORM is the duration, in seconds, of each kind of disturbance (default 3).
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_module.h"
#include "selftests/lib/weather.h"

#define SECONDS		3
#define BALANCING	"/proc/sys/kernel/numa_balancing"
/*
 * Extra time in seconds that is given to slow machines, so that the disturbance (a struct weather) can take effect and
 * the profiled process can make progress.
 */
#define SECONDS_MORE	90
/*
 * Minimum total number of rounds of work that the threads of the profiled process must complete. For a kernel slowed
 * down by its debugging checks, this number is divided by the factor by which the time limits are multiplied.
 */
#define ROUNDS		100

FIXTURE(storm)
{
	struct member member;
	long balancing;		/* the original setting of NUMA balancing */
};

FIXTURE_VARIANT(storm)
{
	const struct weather *weather;
	const char *module;	/* test module to load after massif.ko, or NULL */
};

#define VARIANT(name)	FIXTURE_VARIANT_ADD(storm, name) { &weather_##name }

VARIANT(processors);
VARIANT(freezer);
VARIANT(killer);
VARIANT(sessions);
VARIANT(swap);
VARIANT(merging);
VARIANT(collapse);
VARIANT(compaction);
VARIANT(nodes);
VARIANT(userfault);
VARIANT(kprobes);
VARIANT(ftrace);
VARIANT(bpf);

/*
 * Pages are swapped out while massif.ko has written a target's EXIT record but has not yet removed the target from its
 * table. No record of the target may follow its EXIT.
 */
FIXTURE_VARIANT_ADD(storm, swap_at_exit) { &weather_swap, "massif_slow" };

FIXTURE_SETUP(storm)
{
	kmod_module_unload_soon("massif");
	ASSERT_EQ(0, kmod_module_load(""));
	if (variant->module)
		ASSERT_EQ(0, kmod_module_load_own(variant->module));
	/* Before 6.6, smaps omits huge pages that NUMA balancing has temporarily made inaccessible. */
	self->balancing = weather_number(BALANCING, NULL);
	weather_put(BALANCING, "0");
	ASSERT_EQ(0, member_start(&self->member, variant->weather->faults));
}

FIXTURE_TEARDOWN(storm)
{
	member_destroy(&self->member);
	if (variant->module)
		EXPECT_EQ(0, kmod_module_unload_soon(variant->module));
	if (self->balancing > 0)
		weather_put(BALANCING, "1");
	EXPECT_EQ(0, kmod_module_unload_soon("massif"));
}

static time_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

static unsigned long rounds_wanted(void)
{
	return ROUNDS / (unsigned long)patience();
}

static bool goes_on(const struct weather *weather, const struct member *member, unsigned int round, time_t since,
		    time_t lasts)
{
	time_t lasted = now() - since;

	if (lasted < lasts)
		return true;
	return lasted < lasts + SECONDS_MORE * (time_t)patience() &&
	       (round < weather->rounds || weather->effects() <= 0 || member->shared->rounds < rounds_wanted());
}

TEST_F_TIMEOUT(storm, stays_exact, 36000)
{
	const struct weather *weather = variant->weather;
	struct member *member = &self->member;
	const char *seconds = getenv("MASSIF_STORM"), *missing = weather->begin(member);
	time_t lasts = (seconds ? atol(seconds) : SECONDS) * patience(), start = now();
	unsigned int round = 0, rests = 2;
	long effects;

	if (missing)
		SKIP(return, "this kernel has no %s", missing);
	while (goes_on(weather, member, round, start, lasts)) {
		weather->blow(member, ++round);
		/* Every 64 rounds, pause the disturbance and compare the model built from the records with /proc. */
		if (round % 64)
			continue;
		rests++;
		ASSERT_TRUE(member_rest(member, weather->serve)) TH_LOG("%s", member->wrong);
		member_resume(member);
	}
	ASSERT_TRUE(member_rest(member, weather->serve)) TH_LOG("%s", member->wrong);
	effects = weather->effects();
	EXPECT_TRUE(weather->end(member));
	/*
	 * weather->end() restores the machine's settings. This may change the profiled process's pages, so compare the
	 * model with the kernel's mappings and resident pages once more.
	 */
	EXPECT_TRUE(member_rest(member, weather->serve)) TH_LOG("%s", member->wrong);
	EXPECT_TRUE(member_end(member)) TH_LOG("%s", member->wrong);
	EXPECT_EQ(0, member->model.drifted);
	EXPECT_LT(0, effects);
	EXPECT_LE(rounds_wanted(), member->shared->rounds);
	fprintf(stderr, "# %u rounds, %ld effects; the member's: %llu rounds, %llu programs; %zu targets, %llu resident, "
		"%llu lost, %u rests\n", round, effects, (unsigned long long)member->shared->rounds,
		(unsigned long long)member->shared->programs, member->model.count,
		(unsigned long long)member->model.resident, (unsigned long long)member->model.lost, rests);
}

TEST_HARNESS_MAIN
