// SPDX-License-Identifier: GPL-2.0
// The outside clock.
//
// Instructions: each thread has a counter of its own, which it reads without a system call where the
// kernel lets it (rdpmc, by the protocol in the head of linux/perf_event.h), and by read(2)
// otherwise. One counter that all threads inherit could only be read by the kernel, at twenty times
// the price. The sum over the threads stands in the session memory.

#include "clock.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "model/model.h"
#include "descriptor.h"
#include "session.h"

#define COUNTER_NONE UINT32_MAX /* in mf_clock.process: there is none to be had */

static int open_counter(void)
{
	const struct mf_store_header *header = mf_session_store.header;
	struct perf_event_attr attr = {
		.type = header->counter_type,
		.size = sizeof(attr),
		.config = header->counter_config,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Of the counter @fd: by its page, or by the descriptor, to which the clock then keeps. */
static void use_counter(struct mf_clock *clock, int fd)
{
	void *page = mmap(NULL, (size_t)getauxval(AT_PAGESZ), PROT_READ, MAP_SHARED, fd, 0);

	clock->process = (uint32_t)getpid();
	clock->page = page == MAP_FAILED ? NULL : page;
	if (clock->page && clock->page->cap_user_rdpmc)
		syscall(SYS_close, fd); /* the mapping keeps the counter */
	else
		clock->fd = mf_descriptor_move_high(fd);
}

static void start(struct mf_clock *clock)
{
	int saved = errno, fd = open_counter();

	clock->process = COUNTER_NONE;
	clock->fd = -1;
	if (fd >= 0)
		use_counter(clock, fd);
	else
		__atomic_add_fetch(&mf_session_store.header->counters_missing, 1, __ATOMIC_RELAXED);
	errno = saved;
}

#ifdef __x86_64__

static uint64_t read_hardware(uint32_t counter)
{
	uint32_t low, high;

	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(counter));
	return low | (uint64_t)high << 32;
}

/* The kernel's count plus what the hardware has added since, while neither changes. */
static uint64_t read_page(const volatile struct perf_event_mmap_page *page)
{
	uint32_t sequence;
	uint64_t count;

	do {
		uint32_t index;

		sequence = page->lock;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		index = page->index;
		count = (uint64_t)page->offset;
		if (index) {
			unsigned int unused = 64u - page->pmc_width;

			/* The counter is narrower than a word, and signed. */
			count += (uint64_t)((int64_t)(read_hardware(index - 1) << unused) >>
					    unused);
		}
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	} while (page->lock != sequence);
	return count;
}

#else

static uint64_t read_page(const volatile struct perf_event_mmap_page *page)
{
	return 0;
}

#endif

/* By the kernel. One that cannot be read any more, as the program has closed it, stands still. */
static uint64_t ask_kernel(const struct mf_clock *clock)
{
	uint64_t count;
	int saved = errno;

	if (syscall(SYS_read, clock->fd, &count, sizeof(count)) != (ssize_t)sizeof(count))
		count = clock->last;
	errno = saved;
	return count;
}

int64_t mf_clock_advance(struct mf_clock *clock)
{
	uint64_t count, moved;

	if (!clock->process)
		start(clock);
	if (clock->process == COUNTER_NONE)
		return 0;
	count = clock->fd < 0 ? read_page(clock->page) : ask_kernel(clock);
	moved = count - clock->last;
	clock->last = count;
	return (int64_t)moved;
}

static int64_t count_instructions(struct mf_clock *clock)
{
	struct mf_store_header *header = mf_session_store.header;

	header->instructions += (uint64_t)mf_clock_advance(clock);
	return (int64_t)header->instructions;
}

static int64_t count_milliseconds(void)
{
	struct timespec now;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
	return (int64_t)((ns - mf_session_store.header->first_time_ns) / 1000000);
}

int64_t mf_clock_now(struct mf_clock *clock)
{
	switch (mf_model_of(&mf_session_store)->options.time_unit) {
	case MF_TIME_INSTRUCTIONS:
		return count_instructions(clock);
	case MF_TIME_MS:
		return count_milliseconds();
	default:
		return 0;
	}
}

static bool is_counting(const struct mf_clock *clock)
{
	return clock->process && clock->process != COUNTER_NONE;
}

void mf_clock_end(struct mf_clock *clock)
{
	if (is_counting(clock)) {
		count_instructions(clock);
		if (clock->page)
			munmap((void *)(uintptr_t)clock->page, (size_t)getauxval(AT_PAGESZ));
		if (clock->fd >= 0)
			syscall(SYS_close, clock->fd);
	}
	/* The next thread with this state may have a counter where this one could not. */
	*clock = (struct mf_clock){ 0 };
}

void mf_clock_forget(struct mf_clock *clock)
{
	/* The page was not inherited. */
	if (is_counting(clock) && clock->fd >= 0)
		syscall(SYS_close, clock->fd);
	*clock = (struct mf_clock){ 0 };
}
