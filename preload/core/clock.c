// SPDX-License-Identifier: GPL-2.0
// Determines the time of an event, in milliseconds or instructions.
//
// To count instructions, each thread has its own counter. It is read in user mode with rdpmc where the kernel allows
// this (linux/perf_event.h describes how), and with read(2) elsewhere. A single counter that all threads inherit could
// only be read with a system call, which takes twenty times as long. The sum over all threads is kept in the session
// memory.

#include "clock.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "model/model.h"
#include "definitions.h"
#include "descriptor.h"
#include "seccomp.h"
#include "session.h"

#define COUNTER_NONE UINT32_MAX /* value of mf_clock.process if the thread's instruction counter could not be opened */

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

/* Starts using counter @fd: through its mapped page if rdpmc is allowed, otherwise through the descriptor. */
static void use_counter(struct mf_clock *clock, int fd)
{
	void *page = mmap(NULL, (size_t)getauxval(AT_PAGESZ), PROT_READ, MAP_SHARED, fd, 0);

	clock->process = (uint32_t)getpid();
	clock->page = page == MAP_FAILED ? NULL : page;
	if (clock->page && clock->page->cap_user_rdpmc)
		syscall(SYS_close, fd); /* the mapped page keeps the counter open without the descriptor */
	else
		clock->fd = mf_descriptor_move_high(fd);
}

static void start(struct mf_clock *clock)
{
	int saved = errno, fd = mf_seccomp_is_on() ? -1 : open_counter();

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

/*
 * Reads the instruction counter in user mode: returns the count that the kernel has stored in @page, plus what the
 * hardware has counted since. Retries if the kernel updates the page in the meantime.
 */
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

			/* Sign-extend the hardware counter's value, which is a signed number of fewer than 64 bits. */
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

/* Reads the counter with read(2). If the program has closed the descriptor, returns the last value read. */
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

/*
 * Milliseconds come from the kernel's coarse clock, which lags by up to one tick (4 ms at 250 ticks a second), or from
 * massif-ctl's last reading of the exact clock, whichever is later. massif-ctl reads the exact clock when a snapshot is
 * due, and every millisecond if snapshots are due that often; see mf_timekeeper_look().
 *
 * The shim does not read an exact clock itself: that requires either the time-stamp counter, which a program can
 * disable for itself (PR_SET_TSC, strict seccomp), or a system call, for which a sandbox may kill the program. The
 * vDSO's clock_gettime() reads the coarse clock from memory.
 */
static int (*vdso_clock)(clockid_t clock, struct timespec *time);

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000ull + (uint64_t)time->tv_nsec;
}

static int64_t count_milliseconds(void)
{
	const struct mf_store_header *header = mf_session_store.header;
	int64_t seen = __atomic_load_n(&header->seen_ms, __ATOMIC_RELAXED), ms;
	struct timespec now;

	if (!vdso_clock || vdso_clock(CLOCK_MONOTONIC_COARSE, &now) || ns_of(&now) < header->first_time_ns)
		return seen;
	ms = (int64_t)((ns_of(&now) - header->first_time_ns) / 1000000);
	return ms > seen ? ms : seen;
}

static void keep_function(const struct mf_definition *definition, void *data)
{
	vdso_clock = (int (*)(clockid_t, struct timespec *))definition->address;
}

static void find_vdso_clock(void)
{
	const ElfW(Ehdr) *header = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct mf_definitions definitions;
	struct dl_phdr_info object = { .dlpi_name = "" };

	if (!header)
		return;
	object.dlpi_phdr = (const void *)((uintptr_t)header + header->e_phoff);
	object.dlpi_phnum = header->e_phnum;
	object.dlpi_addr = (uintptr_t)header;
	for (int i = 0; i < object.dlpi_phnum; i++)
		if (object.dlpi_phdr[i].p_type == PT_LOAD)
			object.dlpi_addr = (uintptr_t)header - object.dlpi_phdr[i].p_vaddr;
	if (mf_definitions_open(&definitions, &object))
		mf_definitions_find(&definitions, "__vdso_clock_gettime", 0, keep_function, NULL);
}

void mf_clock_start(void)
{
	struct timespec now = { 0 };

	find_vdso_clock();
	/* A system call is safe here: the program has not run yet, so it cannot have restricted its calls. */
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	mf_session_store.header->first_time_ns = ns_of(&now);
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
	/*
	 * Clear the thread's clock even if its counter could not be opened, so that the next thread that uses this
	 * clock tries again to open a counter.
	 */
	*clock = (struct mf_clock){ 0 };
}

void mf_clock_forget(struct mf_clock *clock)
{
	/* A forked child inherits the counter's descriptor but not the mapping of its page. */
	if (is_counting(clock) && clock->fd >= 0)
		syscall(SYS_close, clock->fd);
	*clock = (struct mf_clock){ 0 };
}
