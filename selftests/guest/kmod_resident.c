// SPDX-License-Identifier: GPL-2.0
// Checks that the sum of the RESIDENT records equals the kernel's own counters, whatever a program does.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/if_packet.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_module.h"
#include "selftests/lib/kmod_session.h"
#include "selftests/lib/guest_swap.h"
#include "selftests/lib/process_state.h"

#define PAGE	4096ul
#define MOMENTS	64
#define TARGETS	128
#define MARKS	0x600000000000ull
#define MARK	0x10000ull
#define SPANS	256	/* SPANS_MAX in rss_span.c */
#define SUMMED	256	/* THREADS_SUMMED_MAX in resident.c */

/* Resident page counts of one target, from its most recent RESIDENT record. */
struct resident {
	uint32_t target;
	bool told;
	uint64_t rss[MASSIF_RSS_COUNT];
};

struct replay {
	struct resident targets[TARGETS];
	size_t count;
	struct {
		bool seen;
		uint64_t rss[MASSIF_RSS_COUNT];
	} moments[MOMENTS];
	uint64_t causes[8];
	uint64_t drifted;	/* number of pages corrected by DRIFT records, in either direction */
	uint64_t swapped;	/* pages swapped out */
	uint64_t no_stack;	/* number of faults that should have a stack but do not */
	uint64_t captures, stacks;
	uint64_t moves;
	uint64_t lost;
	/*
	 * number of errors: an rss that is not the sum of the previous rss and the change in the record, a change in a
	 * BASE record, or no change in a record other than BASE and GONE
	 */
	uint64_t wrong;
	/*
	 * number of GONE records (pages removed) in which all changes to the resident counts are 0, because the removed
	 * pages are included in the changes of earlier or later records
	 */
	uint64_t empty;
};

static struct resident *find(struct replay *replay, uint32_t target)
{
	for (size_t i = 0; i < replay->count; i++)
		if (replay->targets[i].target == target)
			return &replay->targets[i];
	if (replay->count == TARGETS)
		exit(1);
	replay->targets[replay->count].target = target;
	return &replay->targets[replay->count++];
}

static void take(struct replay *replay, const struct massif_rec_resident *rec)
{
	struct resident *resident = find(replay, rec->h.target);
	bool base = rec->cause == MASSIF_RESIDENT_BASE, changed = base;

	replay->causes[rec->cause < 8 ? rec->cause : 0]++;
	for (int i = 0; i < MASSIF_RSS_COUNT; i++) {
		if (resident->told && resident->rss[i] + (uint64_t)(int64_t)rec->change[i] !=
					      rec->rss[i])
			replay->wrong++;
		if (base && rec->change[i])
			replay->wrong++;
		changed |= rec->change[i] != 0;
		if (rec->cause == MASSIF_RESIDENT_DRIFT)
			replay->drifted += (uint64_t)llabs(rec->change[i]);
		if (i == MASSIF_RSS_SWAP && rec->change[i] > 0)
			replay->swapped += (uint64_t)rec->change[i];
		resident->rss[i] = rec->rss[i];
	}
	resident->told = true;
	if (!changed && rec->cause == MASSIF_RESIDENT_GONE)
		replay->empty++;
	else if (!changed)
		replay->wrong++;
	if (rec->h.capture)
		replay->captures++;
	else if (rec->cause <= MASSIF_RESIDENT_POPULATE)
		replay->no_stack++;
}

static int apply(const struct massif_record *rec, void *arg)
{
	const struct massif_rec_map *map = (const void *)rec;
	struct replay *replay = arg;
	uint64_t moment;

	switch (rec->type) {
	case MASSIF_REC_RESIDENT:
		take(replay, (const void *)rec);
		break;
	case MASSIF_REC_STACK:
		replay->stacks++;
		break;
	case MASSIF_REC_MOVE:
		replay->moves++;
		break;
	case MASSIF_REC_LOST:
		replay->lost++;
		break;
	case MASSIF_REC_MAP:
		moment = (map->addr - MARKS) / MARK;
		if (map->addr < MARKS || map->addr % MARK || moment >= MOMENTS)
			break;
		replay->moments[moment].seen = true;
		memcpy(replay->moments[moment].rss, find(replay, rec->target)->rss,
		       sizeof(replay->moments[moment].rss));
		break;
	}
	return 0;
}

FIXTURE(resident)
{
	struct kmod_session session;
	struct replay *replay;
	const char *missing;	/* a kernel feature that this test needs and this kernel lacks; NULL: none */
	char log[PATH_MAX];
	char program[PATH_MAX];
};

/*
 * Returns whether the kernel has mmu notifiers, which are needed to see pages being removed; all Debian kernels
 * do.
 */
static bool has_resident(void)
{
	struct massif_query query = { .size = sizeof(query) };
	int fd = open(MASSIF_DEVICE, O_RDWR | O_CLOEXEC);
	bool has = fd >= 0 && !ioctl(fd, MASSIF_IOC_QUERY, &query) &&
		   query.features & MASSIF_FEATURE_RESIDENT;

	close(fd);
	return has;
}

FIXTURE_VARIANT(resident)
{
	const char *word;	/* argument of the program; NULL: none */
	int moments;
	const char *number;	/* the program's second argument; NULL: none */
	bool swaps;		/* true if the program needs swap space */
	/*
	 * true if so many threads change pages at once that some changes are reported without an address, or, before
	 * Linux 6.2, by a DRIFT record
	 */
	bool crowded;
};

FIXTURE_VARIANT_ADD(resident, one_thread) { NULL, 24 };
FIXTURE_VARIANT_ADD(resident, four_threads) { "threads", 31 };
FIXTURE_VARIANT_ADD(resident, one_thread_swaps) { NULL, 24, .swaps = true };
FIXTURE_VARIANT_ADD(resident, four_threads_swap) { "threads", 31, .swaps = true };
/* As many threads as can have spans in a list (SPANS; the main thread needs one, too), more, ten times as many. */
FIXTURE_VARIANT_ADD(resident, waiting_threads) { "waiting", 27, "255" };
FIXTURE_VARIANT_ADD(resident, one_waiting_thread_more) { "waiting", 27, "257", .crowded = true };
FIXTURE_VARIANT_ADD(resident, ten_times_as_many_waiting_threads) { "waiting", 27, "2560", .crowded = true };

FIXTURE_SETUP(resident)
{
	/* The harness runs the test even if its fixture skips, so the test itself skips. */
	if (!has_resident())
		self->missing = "CONFIG_MMU_NOTIFIER";
	else if (variant->swaps && !guest_swap_begin(&guest_swap_zram))
		self->missing = "zram to swap to";
	if (self->missing)
		return;
	snprintf(self->program, sizeof(self->program), "%s/selftests/targets/resident",
		 getenv("MASSIF_BUILD") ?: "build");
	snprintf(self->log, sizeof(self->log), "%s/resident.%d", getenv("TMPDIR") ?: "/tmp",
		 getpid());
	unlink(self->log);
	ASSERT_EQ(0, setenv("RESIDENT_LOG", self->log, 1));
	self->replay = calloc(1, sizeof(*self->replay));
	ASSERT_NE(NULL, self->replay);
	ASSERT_EQ(0, kmod_session_open_as(&self->session, &(struct massif_setup){
		.ring_bytes = 32 << 20,
		.max_stack_bytes = 1024,
		.flags = MASSIF_SETUP_RESIDENT,
	}));
}

FIXTURE_TEARDOWN(resident)
{
	if (!self->replay)
		return;
	if (variant->swaps)
		EXPECT_TRUE(guest_swap_end(&guest_swap_zram));
	kmod_session_close(&self->session);
	free(self->replay);
	unlink(self->log);
}

/*
 * Compares the replayed counters with those that the program itself read from /proc and logged. Returns the number of
 * log lines compared, or -1 if there is any difference or no log.
 */
static int compare(const struct replay *replay, const char *path)
{
	unsigned long anon, file, shmem, all, swap;
	unsigned int moment;
	char line[256], step[64];
	int compared = 0, wrong = 0;
	FILE *log = fopen(path, "r");

	if (!log)
		return -1;
	while (fgets(line, sizeof(line), log)) {
		const uint64_t *rss;
		uint64_t sum;

		if (sscanf(line, "%u %lu %lu %lu %lu %lu %63s", &moment, &anon, &file, &shmem,
			   &all, &swap, step) != 7 || moment >= MOMENTS || !replay->moments[moment].seen) {
			fprintf(stderr, "# moment not seen: %s", line);
			wrong++;
			continue;
		}
		rss = replay->moments[moment].rss;
		sum = rss[MASSIF_RSS_ANON] + rss[MASSIF_RSS_FILE] + rss[MASSIF_RSS_SHMEM];
		compared++;
		if (rss[MASSIF_RSS_ANON] == anon && rss[MASSIF_RSS_FILE] == file &&
		    rss[MASSIF_RSS_SHMEM] == shmem && sum == all && rss[MASSIF_RSS_SWAP] == swap)
			continue;
		wrong++;
		fprintf(stderr, "# %s: anon %lu file %lu shmem %lu all %lu swap %lu; records: %" PRIu64
				" %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			step, anon, file, shmem, all, swap, rss[MASSIF_RSS_ANON],
			rss[MASSIF_RSS_FILE], rss[MASSIF_RSS_SHMEM], sum, rss[MASSIF_RSS_SWAP]);
	}
	fclose(log);
	return wrong ? -1 : compared;
}

TEST_F_TIMEOUT(resident, adds_up, 120)
{
	char *argv[] = { self->program, (char *)variant->word, (char *)variant->number, NULL };
	struct massif_status status;
	pid_t pid;
	int code;

	if (self->missing)
		SKIP(return, "this kernel has no %s", self->missing);
	pid = kmod_session_spawn(&self->session, argv);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, kmod_session_drain(&self->session, 100 * 1000, apply, self->replay));
	ASSERT_EQ(pid, waitpid(pid, &code, 0));
	EXPECT_EQ(0, code);
	EXPECT_EQ(variant->moments, compare(self->replay, self->log));
	EXPECT_EQ(0, self->replay->wrong);
	EXPECT_EQ(0, self->replay->lost);
	EXPECT_EQ(0, self->replay->no_stack);
	if (variant->swaps) {
		EXPECT_LT(0, self->replay->swapped);
	} else if (!variant->word) {
		EXPECT_EQ(0, self->replay->empty);
	}
	if (variant->crowded) {
		EXPECT_GE(SPANS, self->replay->causes[MASSIF_RESIDENT_POPULATE]);
	} else if (variant->number) {
		EXPECT_EQ(0, self->replay->drifted);
	}
	EXPECT_LT(0, self->replay->moves);
	ASSERT_EQ(0, kmod_session_status(&self->session, &status));
	EXPECT_EQ(0, status.pending);
	fprintf(stderr, "# fault %" PRIu64 " populate %" PRIu64 " gone %" PRIu64 " (%" PRIu64
			" empty) other %" PRIu64 " drift %" PRIu64 " (%" PRIu64 " pages) base %" PRIu64 " captures %" PRIu64
			" stacks %" PRIu64 " targets %zu\n",
		self->replay->causes[MASSIF_RESIDENT_FAULT],
		self->replay->causes[MASSIF_RESIDENT_POPULATE],
		self->replay->causes[MASSIF_RESIDENT_GONE], self->replay->empty,
		self->replay->causes[MASSIF_RESIDENT_OTHER],
		self->replay->causes[MASSIF_RESIDENT_DRIFT], self->replay->drifted,
		self->replay->causes[MASSIF_RESIDENT_BASE], self->replay->captures,
		self->replay->stacks, self->replay->count);
}

/*
 * Calls @run in a child while a session tracks the child's resident pages, and calls @each for every record. Returns
 * the child's status as returned by waitpid(), or -1 if the child could not be tracked.
 */
static int follow(int (*run)(void *arg), int (*each)(const struct massif_record *rec, void *arg), void *arg)
{
	struct kmod_session session;
	int code = -1;
	pid_t pid;

	if (kmod_session_open_as(&session, &(struct massif_setup){
		    .ring_bytes = 1 << 20,
		    .flags = MASSIF_SETUP_RESIDENT,
	    }))
		return -1;
	pid = kmod_session_call(&session, run, NULL);
	if (pid > 0 && (kmod_session_drain(&session, 20 * 1000, each, arg) ||
			waitpid(pid, &code, 0) != pid))
		code = -1;
	kmod_session_close(&session);
	return code;
}

/* Number of pages of a mapping that is unmapped while all its pages are resident. */
#define UNMAPPED	8

static int unmap_one(void *arg)
{
	char *at = mmap((void *)MARKS, UNMAPPED * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (at == MAP_FAILED)
		return 1;
	memset(at, 1, UNMAPPED * PAGE);
	return munmap(at, UNMAPPED * PAGE) ? errno : 0;
}

struct unmapping {
	int unmaps;
	bool told_before;	/* true if a flag in the UNMAP record says that the records of its pages precede it */
	/* numbers of pages that the records before and after the UNMAP record report as no longer resident */
	int gone_before, gone_behind;
};

static int take_unmapping(const struct massif_record *rec, void *arg)
{
	const struct massif_rec_resident *resident = (const void *)rec;
	const struct massif_rec_map *map = (const void *)rec;
	struct unmapping *seen = arg;

	if (rec->type == MASSIF_REC_UNMAP && map->addr == MARKS) {
		seen->unmaps++;
		seen->told_before = rec->flags & MASSIF_RF_GONE;
	}
	if (rec->type == MASSIF_REC_RESIDENT && resident->cause == MASSIF_RESIDENT_GONE &&
	    resident->addr == MARKS)
		*(seen->unmaps ? &seen->gone_behind : &seen->gone_before) -= resident->change[MASSIF_RSS_ANON];
	return 0;
}

/*
 * Whether the pages' records come before or after the UNMAP record depends on the kernel. A flag in the UNMAP record
 * tells which is the case.
 */
TEST(pages_go_before_their_mapping_or_behind_it)
{
	struct unmapping seen = {};

	if (!has_resident())
		SKIP(return, "this kernel has no CONFIG_MMU_NOTIFIER");
	ASSERT_EQ(0, follow(unmap_one, take_unmapping, &seen));
	ASSERT_EQ(1, seen.unmaps);
	EXPECT_EQ(seen.told_before ? UNMAPPED : 0, seen.gone_before);
	EXPECT_EQ(seen.told_before ? 0 : UNMAPPED, seen.gone_behind);
}

/* Pages that a driver inserts into the mapping of its file while the program maps it. */
#define RING	8

static int map_packets(void *arg)
{
	struct tpacket_req ring = {
		.tp_block_size = 2 * PAGE,
		.tp_block_nr = RING / 2,
		.tp_frame_size = PAGE,
		.tp_frame_nr = RING,
	};
	int packets = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (packets < 0 || setsockopt(packets, SOL_PACKET, PACKET_RX_RING, &ring, sizeof(ring)))
		return errno;
	return mmap((void *)MARKS, RING * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, packets, 0) ==
			       MAP_FAILED ? errno : 0;
}

struct insertion {
	long pages;	/* pages reported with the mapping's address range */
	long drifted;	/* pages in DRIFT records */
};

static int take_insertion(const struct massif_record *rec, void *arg)
{
	const struct massif_rec_resident *resident = (const void *)rec;
	struct insertion *seen = arg;

	if (rec->type != MASSIF_REC_RESIDENT)
		return 0;
	if (resident->cause == MASSIF_RESIDENT_POPULATE && resident->addr == MARKS && resident->len == RING * PAGE)
		seen->pages += resident->change[MASSIF_RSS_FILE];
	if (resident->cause == MASSIF_RESIDENT_DRIFT)
		for (int i = 0; i < MASSIF_RSS_COUNT; i++)
			seen->drifted += labs((long)resident->change[i]);
	return 0;
}

TEST(pages_that_a_driver_inserts)
{
	struct insertion seen = {};
	int code;

	if (!has_resident())
		SKIP(return, "this kernel has no CONFIG_MMU_NOTIFIER");
	code = follow(map_packets, take_insertion, &seen);
	ASSERT_TRUE(WIFEXITED(code));
	if (WEXITSTATUS(code) == EAFNOSUPPORT)
		SKIP(return, "this kernel has no packet sockets");
	ASSERT_EQ(0, code);
	EXPECT_EQ(RING, seen.pages);
	EXPECT_EQ(0, seen.drifted);
}

/*
 * Moves three mappings, separated by gaps of two pages, with a single mremap call. The exit status is its errno value,
 * or 0.
 */
#define MANY		3
#define APART		4
#define MOVED_BY	(64 * PAGE)

static int move_many(void *arg)
{
	char *at = mmap(NULL, 2 * MOVED_BY, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return 1;
	munmap(at, MOVED_BY);
	for (int i = 0; i < MANY; i++) {
		char *part = at + i * APART * PAGE;

		if (mmap(part, 2 * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != part)
			return 1;
		memset(part, 1, 2 * PAGE);
	}
	return mremap(at, MANY * APART * PAGE, MANY * APART * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		      at + MOVED_BY) == MAP_FAILED ? errno : 0;
}

struct moves {
	struct massif_rec_move all[MANY];
	size_t count;
};

static int take_move(const struct massif_record *rec, void *arg)
{
	struct moves *moves = arg;

	if (rec->type == MASSIF_REC_MOVE && moves->count++ < MANY)
		moves->all[moves->count - 1] = *(const struct massif_rec_move *)rec;
	return 0;
}

/*
 * If one call moves several mappings, each mapping has its own MOVE record. That record also covers the move of the
 * mapping's resident pages.
 */
TEST(a_move_of_many)
{
	struct moves moves = {};
	int code;

	if (!has_resident())
		SKIP(return, "this kernel has no CONFIG_MMU_NOTIFIER");
	code = follow(move_many, take_move, &moves);
	ASSERT_LE(0, code);
	if (WIFEXITED(code) && WEXITSTATUS(code) == EFAULT)
		SKIP(return, "this kernel moves one mapping a call");
	ASSERT_EQ(0, code);
	ASSERT_EQ(MANY, moves.count);
	for (size_t i = 0; i < MANY; i++) {
		EXPECT_EQ(moves.all[0].from + i * APART * PAGE, moves.all[i].from);
		EXPECT_EQ(moves.all[i].from + MOVED_BY, moves.all[i].addr);
		EXPECT_EQ(2 * PAGE, moves.all[i].len);
	}
}

FIXTURE(many)
{
	struct kmod_session session;
	struct replay *replay;
	int ask[2], answer[2];	/* the test and the process take turns; each writes a byte when it has finished */
	pid_t pid;
};

FIXTURE_VARIANT(many)
{
	unsigned int threads;	/* threads of the process, the first one included */
};

FIXTURE_VARIANT_ADD(many, at_the_limit) { SUMMED };
FIXTURE_VARIANT_ADD(many, one_more) { SUMMED + 1 };
FIXTURE_VARIANT_ADD(many, ten_times_as_many) { 10 * SUMMED };

FIXTURE_SETUP(many)
{
	self->replay = calloc(1, sizeof(*self->replay));
	ASSERT_NE(NULL, self->replay);
	ASSERT_EQ(0, pipe(self->ask));
	ASSERT_EQ(0, pipe(self->answer));
}

FIXTURE_TEARDOWN(many)
{
	if (self->pid > 0) {
		kill(self->pid, SIGKILL);
		waitpid(self->pid, NULL, 0);
	}
	free(self->replay);
}

/* Each thread makes PAGES_EACH pages resident in each of two rounds. */
#define PAGES_EACH	3
#define STACK_BYTES	(16 * PAGE)

static pthread_barrier_t turns;
static char *all_pages;

static void *touch_some(void *arg)
{
	char *mine = all_pages + (uintptr_t)arg * 2 * PAGES_EACH * PAGE;

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < PAGES_EACH; i++)
			*(volatile char *)(mine + (round * PAGES_EACH + i) * PAGE) = 1;
		pthread_barrier_wait(&turns);
		pthread_barrier_wait(&turns);
	}
	return NULL;
}

static bool take_turn(FIXTURE_DATA(many) *self)
{
	char byte = 0;

	return write(self->answer[1], &byte, 1) == 1 && read(self->ask[0], &byte, 1) == 1;
}

static int have_threads(FIXTURE_DATA(many) *self, unsigned int others)
{
	pthread_t *threads = calloc(others, sizeof(*threads));
	char *stacks = mmap(NULL, others * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;

	all_pages = mmap(NULL, others * 2 * PAGES_EACH * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);
	if (!threads || stacks == MAP_FAILED || all_pages == MAP_FAILED)
		return 1;
	madvise(all_pages, others * 2 * PAGES_EACH * PAGE, MADV_NOHUGEPAGE);
	madvise(stacks, others * STACK_BYTES, MADV_NOHUGEPAGE);
	pthread_barrier_init(&turns, NULL, others + 1);
	pthread_attr_init(&attr);
	for (unsigned int i = 0; i < others; i++) {
		pthread_attr_setstack(&attr, stacks + i * STACK_BYTES, STACK_BYTES);
		if (pthread_create(&threads[i], &attr, touch_some, (void *)(uintptr_t)i))
			return 1;
	}
	for (int round = 0; round < 2; round++) {
		pthread_barrier_wait(&turns);
		if (!take_turn(self))
			return 1;
		pthread_barrier_wait(&turns);
	}
	for (unsigned int i = 0; i < others; i++)
		pthread_join(threads[i], NULL);
	return take_turn(self) ? 0 : 1;
}

/* Waits for the process, and then until all its threads are asleep, so that no counter changes while it is read. */
static bool wait_for_turn(FIXTURE_DATA(many) *self)
{
	char byte;

	return read(self->answer[0], &byte, 1) == 1 && process_await_state(self->pid, 'S');
}

static bool give_turn(FIXTURE_DATA(many) *self)
{
	return write(self->ask[1], "", 1) == 1;
}

/*
 * Returns by how many pages the records so far differ from the resident pages that the kernel finds in the page tables
 * of the process.
 */
static long off_by(FIXTURE_DATA(many) *self)
{
	const struct massif_record *rec;
	const struct resident *last;
	char path[64], line[256];
	long pages = -1, kib;
	FILE *file;

	while ((rec = kmod_session_next(&self->session)))
		apply(rec, self->replay);
	kmod_session_release(&self->session);
	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)self->pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Rss: %ld kB", &kib) == 1)
			pages = kib / 4;
	if (file)
		fclose(file);
	if (!self->replay->count || pages < 0)
		return LONG_MIN;
	last = &self->replay->targets[0];
	return (long)(last->rss[MASSIF_RSS_ANON] + last->rss[MASSIF_RSS_FILE] + last->rss[MASSIF_RSS_SHMEM]) - pages;
}

/*
 * A session attaches to a process whose threads have made pages resident. Before Linux 6.2, the kernel has not added most
 * of them to the counters of the address space, and the module must sum up what the threads have collected.
 */
TEST_F_TIMEOUT(many, of_a_process_with_threads, 120)
{
	struct massif_setup setup = { .ring_bytes = 8 << 20, .flags = MASSIF_SETUP_RESIDENT };
	int status;

	if (!has_resident())
		SKIP(return, "this kernel has no CONFIG_MMU_NOTIFIER");
	self->pid = fork();
	if (!self->pid)
		_exit(have_threads(self, variant->threads - 1));
	ASSERT_LT(0, self->pid);
	ASSERT_TRUE(wait_for_turn(self));
	ASSERT_EQ(0, kmod_session_open_as(&self->session, &setup));
	ASSERT_EQ(0, kmod_session_attach(self->session.fd, self->pid));
	EXPECT_EQ(0, off_by(self));
	ASSERT_TRUE(give_turn(self) && wait_for_turn(self));
	EXPECT_EQ(0, off_by(self));
	/* Without the threads, drift is looked for again. */
	ASSERT_TRUE(give_turn(self) && wait_for_turn(self));
	EXPECT_EQ(0, off_by(self));
	ASSERT_TRUE(give_turn(self));
	ASSERT_EQ(0, kmod_session_drain(&self->session, 20 * 1000, apply, self->replay));
	EXPECT_EQ(self->pid, waitpid(self->pid, &status, 0));
	self->pid = 0;
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, self->replay->wrong);
	EXPECT_EQ(0, self->replay->lost);
	EXPECT_EQ(0, self->replay->drifted);
	kmod_session_close(&self->session);
}

TEST_HARNESS_MAIN
