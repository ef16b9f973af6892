// SPDX-License-Identifier: GPL-2.0
// When samples of the resident set are taken: they may use one part in a hundred of a processor.

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "residency/sampler.h"

#define PART  100u
#define BYTES (256ul << 20)

/* A sample in which a process has so many bytes more than in all others. */
#define PEAK_AT	   101u
#define PEAK_BYTES (4ul << 20)

FIXTURE(sampler) {
	struct mf_store store;
	struct mf_sampler sampler;
	pid_t pid;
	uint64_t used_us; /* processor time of this thread in all samples */
};

FIXTURE_SETUP(sampler)
{
	struct mf_error err;
	int ready[2];
	char byte;

	ASSERT_EQ(0, mf_store_create(&self->store, 512ull << 20, NULL, &err));
	ASSERT_EQ(0, pipe(ready));
	self->pid = fork();
	if (!self->pid) {
		char *bytes = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		/* Huge pages would make a sample too quick. */
		madvise(bytes, BYTES, MADV_NOHUGEPAGE);
		memset(bytes, 1, BYTES);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	close(ready[0]);
	close(ready[1]);
}

FIXTURE_TEARDOWN(sampler)
{
	kill(self->pid, SIGKILL);
	waitpid(self->pid, NULL, 0);
	mf_sampler_deinit(&self->sampler);
	mf_store_detach(&self->store);
}

static uint64_t used_us(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
}

static int take(FIXTURE_DATA(sampler) *self, uint64_t time_ms, uint32_t reasons)
{
	struct mf_error err;
	uint64_t begun = used_us();
	int ret = mf_sampler_take(&self->sampler, self->pid, &self->store, 0,
				  (struct mf_sample_at){ .time_ms = time_ms, .reasons = reasons }, &err);

	self->used_us += used_us() - begun;
	return ret;
}

/* Returns how much time the samples may not have taken, in milliseconds. The measurement itself takes something, too. */
static uint64_t least_ms(const FIXTURE_DATA(sampler) *self)
{
	return self->used_us * PART / 1000 * 9 / 10;
}

TEST_F(sampler, takes_one_part_in_a_hundred)
{
	uint64_t now = 0;

	for (int i = 0; i < 50; i++) {
		ASSERT_EQ(0, take(self, now, MF_SAMPLE_PERIODIC));
		EXPECT_LE(now + 50, self->sampler.next_ms);
		EXPECT_LE(self->sampler.rested_ms, self->sampler.next_ms);
		now = self->sampler.next_ms;
	}
	EXPECT_EQ(50, self->sampler.residency.n_samples);
	EXPECT_LT(0, self->used_us);
	EXPECT_LE(least_ms(self), now) TH_LOG("%lu us in %lu ms", self->used_us, now);
}

/* Samples that must be taken at once do not wait, but the next one waits for longer. */
TEST_F(sampler, counts_samples_on_request)
{
	for (int i = 0; i < 50; i++)
		ASSERT_EQ(0, take(self, 1000, MF_SAMPLE_REQUEST));
	EXPECT_LE(1000 + least_ms(self), self->sampler.rested_ms) TH_LOG("%lu us", self->used_us);
	EXPECT_LE(self->sampler.rested_ms, self->sampler.next_ms);
}

/* A process that has more memory from the first byte that is written to @to until the second one. */
static pid_t start_with_peak(int *to, int *from)
{
	int there[2], back[2];
	char byte, *bytes = NULL;
	pid_t pid;

	if (pipe(there) || pipe(back))
		abort();
	pid = fork();
	*to = there[1];
	*from = back[0];
	if (pid)
		return pid;
	close(there[1]);
	while (read(there[0], &byte, 1) == 1) {
		if (bytes)
			munmap(bytes, PEAK_BYTES);
		else
			bytes = mmap(NULL, PEAK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1,
				     0);
		if (write(back[1], "x", 1) != 1)
			break;
	}
	_exit(0);
}

/* Whenever the list of samples is full, every second one is dropped, but never the largest one. */
TEST_F_TIMEOUT(sampler, keeps_the_largest_sample, 120)
{
	struct mf_sampler sampler = { 0 };
	const struct mf_residency *residency = &sampler.residency;
	uint64_t largest = 0;
	struct mf_error err;
	int to, from;
	pid_t pid = start_with_peak(&to, &from);
	char byte;

	for (uint64_t i = 0; i < 5 * MF_SAMPLES_KEPT; i++) {
		if (i == PEAK_AT || i == PEAK_AT + 1) {
			ASSERT_EQ(1, write(to, "x", 1));
			ASSERT_EQ(1, read(from, &byte, 1));
		}
		ASSERT_EQ(0, mf_sampler_take(&sampler, pid, &self->store, 0,
					     (struct mf_sample_at){ .time_ms = i, .reasons = MF_SAMPLE_PERIODIC }, &err));
	}
	EXPECT_EQ(PEAK_AT, residency->peak.sample.time_ms);
	EXPECT_GE(2 * MF_SAMPLES_KEPT, residency->n_samples);
	for (size_t i = 0; i < residency->n_samples; i++) {
		uint64_t rss = mf_residency_rss(&residency->samples[i]);

		largest = rss > largest ? rss : largest;
		EXPECT_TRUE(!i || residency->samples[i - 1].time_ms < residency->samples[i].time_ms);
	}
	EXPECT_EQ(mf_residency_rss(&residency->peak.sample), largest);
	close(to);
	close(from);
	waitpid(pid, NULL, 0);
	mf_sampler_deinit(&sampler);
}

/* If all samples are equal, all are the largest one; half of a full list is dropped nevertheless. */
TEST_F_TIMEOUT(sampler, of_the_same_time, 120)
{
	for (uint64_t i = 0; i < 4 * MF_SAMPLES_KEPT; i++) {
		ASSERT_EQ(0, take(self, 1000, MF_SAMPLE_REQUEST));
		ASSERT_GE(2 * MF_SAMPLES_KEPT, self->sampler.residency.n_samples);
	}
}

TEST_HARNESS_MAIN
