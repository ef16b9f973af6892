// SPDX-License-Identifier: GPL-2.0
// Reading a thread's instruction counter, on any machine: the kernel's page is simulated, but rdpmc is really executed.
// If no counter is open, the kernel forbids rdpmc, and a signal handler emulates it with one of this file's simulated
// counters.

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "model/model.h"
#include "preload/core/clock.h"
#include "preload/core/seccomp.h"
#include "preload/core/session.h"
#include "selftests/lib/skip.h"

struct mf_store mf_session_store;
bool mf_seccomp_on;

#define BITS_48	 ((1ull << 48) - 1)
#define TOP_48	 (1ull << 47)
#define FIXED	 (1u << 30) /* bit of rdpmc's operand that selects a fixed-function counter */

/* The simulated counters of one processor. */
static struct {
	uint64_t value, width;
	uint32_t selected; /* the counter selected by the last rdpmc */
	unsigned int reads;
	/*
	 * called once while the counter is being read; changes the counter and its page like the kernel, which may move
	 * the thread to another processor at that moment
	 */
	void (*meanwhile)(void);
} hardware;

static struct perf_event_mmap_page page;
static sigjmp_buf cannot_read;

static void execute_rdpmc(int signal, siginfo_t *info, void *data)
{
	greg_t *registers = ((ucontext_t *)data)->uc_mcontext.gregs;
	const unsigned char *code = (const unsigned char *)registers[REG_RIP];
	void (*meanwhile)(void) = hardware.meanwhile;

	if (code[0] != 0x0f || code[1] != 0x33)
		_exit(100 + signal);
	hardware.selected = (uint32_t)registers[REG_RCX];
	hardware.reads++;
	registers[REG_RAX] = (greg_t)(uint32_t)hardware.value;
	registers[REG_RDX] = (greg_t)(hardware.value >> 32);
	registers[REG_RIP] += 2;
	hardware.meanwhile = NULL;
	if (meanwhile)
		meanwhile();
}

static void give_up(int signal)
{
	siglongjmp(cannot_read, signal);
}

/* If this kernel permits rdpmc for all processes, the test cannot emulate rdpmc. */
static bool rdpmc_fails(void)
{
	bool fails = true;

	signal(SIGSEGV, give_up);
	signal(SIGILL, give_up);
	if (!sigsetjmp(cannot_read, 1)) {
		__asm__ volatile("rdpmc" : : "c"(0) : "rax", "rdx");
		fails = false;
	}
	return fails;
}

FIXTURE(clock) {
	struct mf_clock clock;
};

FIXTURE_SETUP(clock)
{
	const struct mf_model_options options = {
		.max_snapshots = 100,
		.detailed_freq = 10,
		.time_unit = MF_TIME_INSTRUCTIONS,
		.alignment = 16,
	};
	struct sigaction action = { .sa_sigaction = execute_rdpmc, .sa_flags = SA_SIGINFO };
	struct mf_error err;
	int fd;

	if (!rdpmc_fails())
		SKIP_SETUP("everybody may execute rdpmc here: see /sys/bus/event_source/devices/cpu/rdpmc");
	ASSERT_EQ(0, mf_store_create(&mf_session_store, 0, &fd, &err));
	close(fd);
	mf_model_init(&mf_session_store, &options);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGILL, &action, NULL);
	memset(&hardware, 0, sizeof(hardware));
	page = (struct perf_event_mmap_page){
		.cap_user_rdpmc = 1,
		.pmc_width = 48,
		.index = 1,
	};
	self->clock = (struct mf_clock){
		.page = &page,
		.fd = -1,
		.process = (uint32_t)getpid(),
	};
}

FIXTURE_TEARDOWN(clock)
{
	mf_store_detach(&mf_session_store);
}

/*
 * The count is the sum of the hardware counter's value, a signed page.pmc_width-bit number, and page.offset, a signed
 * 64-bit number. Either may be negative.
 */
TEST_F(clock, is_what_the_kernel_counted_and_the_hardware_since)
{
	static const struct {
		uint16_t width;
		uint64_t value, offset, want;
	} rows[] = {
		{ 48, 0, 0, 0 },
		{ 48, 1, 0, 1 },
		{ 48, 0x123456789a, 7, 0x12345678a1 },
		{ 48, TOP_48 - 1, 0, TOP_48 - 1 },
		{ 48, TOP_48, TOP_48, 0 },
		/* The counter's initial value, chosen so that it overflows after TOP_48 - 1 counts. */
		{ 48, TOP_48 + 1, TOP_48 - 1, 0 },
		{ 48, TOP_48 + 1001, TOP_48 - 1, 1000 },
		{ 48, BITS_48, 5, 4 },
		{ 48, BITS_48, 1, 0 },
		{ 48, 10, UINT64_MAX - 4, 5 },
		{ 40, 0x8000000000, 0x8000000000, 0 },
		{ 40, 0xffffffffff, 1ull << 50, (1ull << 50) - 1 },
		{ 40, 0x7fffffffff, 0, 0x7fffffffff },
		{ 32, 0xffffffff, 2, 1 },
		{ 64, UINT64_MAX, 3, 2 },
		{ 64, INT64_MAX, 0, INT64_MAX },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		page.pmc_width = rows[i].width;
		page.offset = (int64_t)rows[i].offset;
		hardware.value = rows[i].value;
		self->clock.last = 0;
		EXPECT_EQ((int64_t)rows[i].want, mf_clock_advance(&self->clock));
	}
	EXPECT_EQ(sizeof(rows) / sizeof(*rows), hardware.reads);
}

TEST_F(clock, asks_for_the_counter_that_the_kernel_names)
{
	static const uint32_t counters[] = { 0, 1, 7, FIXED, FIXED + 2 };

	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
		page.index = counters[i] + 1;
		mf_clock_advance(&self->clock);
		EXPECT_EQ(counters[i], hardware.selected);
		EXPECT_EQ(i + 1, hardware.reads);
	}
}

/*
 * If there are more events to count than the machine has counters, the kernel multiplexes them, so page.index is 0 some
 * of the time.
 */
TEST_F(clock, without_a_counter_at_the_moment_is_the_kernels_count)
{
	page.index = 0;
	page.offset = 1000;
	EXPECT_EQ(1000, mf_clock_advance(&self->clock));
	EXPECT_EQ(0, mf_clock_advance(&self->clock));
	page.offset = 1010;
	EXPECT_EQ(10, mf_clock_advance(&self->clock));
	EXPECT_EQ(0, hardware.reads);
	page.index = 3;
	page.offset -= 5;
	hardware.value = 8;
	EXPECT_EQ(3, mf_clock_advance(&self->clock));
	EXPECT_EQ(2, hardware.selected);
}

/*
 * After an overflow, the hardware counter continues at 0 until the kernel notices. Then the kernel adds the count to
 * page.offset and gives the hardware counter a new start value.
 */
TEST_F(clock, goes_on_when_the_counter_is_full)
{
	page.offset = (int64_t)TOP_48 - 1;
	hardware.value = TOP_48 + 1;
	EXPECT_EQ(0, mf_clock_advance(&self->clock));
	hardware.value = BITS_48 - 1;
	EXPECT_EQ((int64_t)TOP_48 - 3, mf_clock_advance(&self->clock));
	hardware.value = 3;
	EXPECT_EQ(5, mf_clock_advance(&self->clock));
	page.lock += 2;
	page.offset += (int64_t)TOP_48 + 3;
	hardware.value = TOP_48 + 1;
	EXPECT_EQ(1, mf_clock_advance(&self->clock));
	hardware.value += 100;
	EXPECT_EQ(100, mf_clock_advance(&self->clock));
}

/* The thread migrates to another processor, with a different counter and a different start value. */
static void move(void)
{
	page.lock += 2;
	page.index = 5;
	page.offset = 1000000;
	hardware.value = 17;
}

TEST_F(clock, is_read_again_if_the_kernel_changed_it_meanwhile)
{
	page.offset = 500;
	hardware.value = 400;
	hardware.meanwhile = move;
	EXPECT_EQ(1000017, mf_clock_advance(&self->clock));
	EXPECT_EQ(2, hardware.reads);
	EXPECT_EQ(4, hardware.selected);
	EXPECT_EQ(0, mf_clock_advance(&self->clock));
	EXPECT_EQ(3, hardware.reads);
}

static void move_thrice(void)
{
	move();
	if (page.lock < 6)
		hardware.meanwhile = move_thrice;
}

TEST_F(clock, is_read_until_the_kernel_leaves_it_alone)
{
	hardware.meanwhile = move_thrice;
	EXPECT_EQ(1000017, mf_clock_advance(&self->clock));
	EXPECT_EQ(4, hardware.reads);
}

static void lose_counter(void)
{
	page.lock += 2;
	page.index = 0;
	page.offset = 900;
}

TEST_F(clock, may_lose_its_counter_meanwhile)
{
	hardware.value = 123456;
	hardware.meanwhile = lose_counter;
	EXPECT_EQ(900, mf_clock_advance(&self->clock));
	EXPECT_EQ(1, hardware.reads);
}

/* Returns a descriptor from which @counts can be read one at a time, as from a counter. */
static int counts_to_read(const uint64_t *counts, size_t size)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) || write(ends[1], counts, size) != (ssize_t)size)
		return -1;
	close(ends[1]);
	return ends[0];
}

TEST_F(clock, is_the_kernels_to_read_where_rdpmc_is_not_for_the_program)
{
	static const uint64_t counts[] = { 40, 42, 42, 1ull << 60 };

	page.cap_user_rdpmc = 0;
	self->clock.fd = counts_to_read(counts, sizeof(counts));
	ASSERT_LE(0, self->clock.fd);
	EXPECT_EQ(40, mf_clock_advance(&self->clock));
	EXPECT_EQ(2, mf_clock_advance(&self->clock));
	EXPECT_EQ(0, mf_clock_advance(&self->clock));
	EXPECT_EQ((1ll << 60) - 42, mf_clock_advance(&self->clock));
	/* Without a counter, time does not advance. */
	EXPECT_EQ(0, mf_clock_advance(&self->clock));
	EXPECT_EQ(0, hardware.reads);
}

/* The program has closed a descriptor, not knowing that it belongs to the shim. */
TEST_F(clock, stands_still_without_its_descriptor)
{
	static const uint64_t counts[] = { 7 };

	self->clock.fd = counts_to_read(counts, sizeof(counts));
	ASSERT_LE(0, self->clock.fd);
	EXPECT_EQ(7, mf_clock_advance(&self->clock));
	close(self->clock.fd);
	errno = 4711;
	EXPECT_EQ(0, mf_clock_advance(&self->clock));
	EXPECT_EQ(4711, errno);
}

TEST_F(clock, is_the_sum_of_all_threads)
{
	struct mf_clock other = { .fd = -1, .process = self->clock.process };
	struct perf_event_mmap_page second = { .offset = 50 };

	other.page = &second;
	page.index = 0;
	page.offset = 7;
	EXPECT_EQ(7, mf_clock_now(&self->clock));
	EXPECT_EQ(57, mf_clock_now(&other));
	page.offset = 10;
	EXPECT_EQ(60, mf_clock_now(&self->clock));
	EXPECT_EQ(60, mf_clock_now(&other));
}

/*
 * Ending a thread's clock closes its counter, but first adds the instructions executed since the thread's last event.
 */
TEST_F(clock, ends_with_its_thread)
{
	static const uint64_t counts[] = { 40, 100 };
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *mapped = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char resident;
	int fd = counts_to_read(counts, sizeof(counts));

	ASSERT_NE(MAP_FAILED, mapped);
	self->clock.page = mapped;
	self->clock.fd = fd;
	EXPECT_EQ(40, mf_clock_now(&self->clock));
	mf_clock_end(&self->clock);
	EXPECT_EQ(100, mf_session_store.header->instructions);
	EXPECT_EQ(-1, fcntl(fd, F_GETFD));
	EXPECT_EQ(-1, mincore(mapped, size, &resident));
	EXPECT_EQ(0, self->clock.process);
	/* A second call of mf_clock_end() has no effect. */
	mf_clock_end(&self->clock);
	EXPECT_EQ(100, mf_session_store.header->instructions);
}

/*
 * A forked child inherits the descriptor of its parent's counter, but has no counter of its own. mf_clock_forget()
 * closes the descriptor.
 */
TEST_F(clock, is_its_parents_in_a_child)
{
	static const uint64_t counts[] = { 40, 100 };
	int fd = counts_to_read(counts, sizeof(counts));

	self->clock.page = (void *)4096;
	self->clock.fd = fd;
	mf_clock_forget(&self->clock);
	EXPECT_EQ(-1, fcntl(fd, F_GETFD));
	EXPECT_EQ(0, self->clock.process);
	EXPECT_EQ(0, self->clock.last);
}

/* If a thread's instruction counter cannot be opened, this is recorded once, and the thread's errno is preserved. */
TEST_F(clock, of_a_thread_without_a_counter_stands_still)
{
	struct mf_clock none = { 0 };

	mf_session_store.header->counter_type = UINT32_MAX; /* a perf event type that does not exist */
	errno = 4711;
	EXPECT_EQ(0, mf_clock_advance(&none));
	EXPECT_EQ(0, mf_clock_advance(&none));
	EXPECT_EQ(4711, errno);
	EXPECT_EQ(1, mf_session_store.header->counters_missing);
	/* The next thread that uses the same struct mf_clock tries again to open a counter. */
	mf_clock_end(&none);
	EXPECT_EQ(0, none.process);
	EXPECT_EQ(0, mf_clock_advance(&none));
	EXPECT_EQ(2, mf_session_store.header->counters_missing);
}

TEST_HARNESS_MAIN
