// SPDX-License-Identifier: GPL-2.0
// Makes pages resident and removes them in every possible way, and logs the kernel's counters.
//
// After each step, it writes a line to the file $RESIDENT_LOG: the line's number; RssAnon, RssFile and RssShmem from
// /proc/self/status, Rss from /proc/self/smaps_rollup and VmSwap, in pages; and the name of the step. Just before that,
// it maps a page at MARKS + the line's number * 64 KiB, so that a reader of the records can tell at which point among
// them the counters were read. If that page is mapped several times, the last time counts. With "threads", the steps
// run in four threads at once, and lines are written between rounds. With "waiting" and a number, that many threads first
// wait for a page at the same time, each in a call of mlock.
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE	4096ul
#define HUGE	(2ul << 20)
#define MARKS	0x600000000000ul
#define MARK	0x10000ul
#define THREADS 4
#define ROUNDS	6
#define STACK_PAGES 16ul

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

static char text[16384];
static int log_file;
static unsigned int moment;
static int warming; /* set during the first call of tell(), made only so that all the code it uses becomes resident */
static volatile char sink;
/* a page that sync_counters() touches and discards in this thread, so that the kernel updates the shared counters */
static __thread char *scratch;

static void die(const char *what)
{
	perror(what);
	_exit(3);
}

static char *map(size_t pages, int flags)
{
	char *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		die("mmap");
	return at;
}

/* Maps anonymous memory without huge pages. */
static char *map_small(size_t pages, int flags)
{
	char *at = map(pages, MAP_PRIVATE);

	madvise(at, pages * PAGE, MADV_NOHUGEPAGE);
	if (flags)
		at = mmap(at, pages * PAGE, PROT_READ | PROT_WRITE,
			  flags | MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	return at;
}

static void write_to(char *at, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		((volatile char *)at)[i * PAGE] = (char)i;
}

static void read_from(const char *at, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		sink += ((const volatile char *)at)[i * PAGE];
}

/*
 * Removes a page from memory. Before 6.2, the kernel adds a thread's new pages to the shared counters only when the
 * thread removes pages, so this makes it do so.
 */
static void sync_counters(void)
{
	if (!scratch)
		scratch = map_small(1, 0);
	scratch[0] = 1;
	madvise(scratch, PAGE, MADV_DONTNEED);
}

static void read_text(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got;

	if (fd < 0)
		die(path);
	while ((got = read(fd, text + used, sizeof(text) - 1 - used)) > 0)
		used += (size_t)got;
	text[used] = '\0';
	close(fd);
}

static unsigned long field(const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoul(at + strlen(name), NULL, 10) / 4 : 0;
}

/* The kernel's counters, in pages. */
struct counters {
	unsigned long anon, file, shmem, all, swap;
};

static struct counters read_counters(void)
{
	struct counters now;

	sync_counters();
	read_text("/proc/self/status");
	now.anon = field("\nRssAnon:");
	now.file = field("\nRssFile:");
	now.shmem = field("\nRssShmem:");
	now.swap = field("\nVmSwap:");
	read_text("/proc/self/smaps_rollup");
	now.all = field("\nRss:");
	return now;
}

/*
 * Maps a page, so that its record marks the current moment in the module's stream of records. A second call for the
 * same moment maps the page again.
 */
static void map_mark(void)
{
	void *at = (void *)(MARKS + moment * MARK);

	munmap(at, PAGE);
	if (mmap(at, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
		die("mark");
}

/*
 * khugepaged can fill the holes in the memory of huge() at any time, even between reading the counters and mapping the
 * page that marks this moment. So this function reads the counters before and after mapping the page, and maps it again
 * until the counters have not changed in between.
 */
static void tell(const char *step)
{
	struct counters before, now = read_counters();
	static char line[256];
	int length;

	for (int i = 0; i < 10; i++) {
		before = now;
		if (!warming)
			map_mark();
		now = read_counters();
		if (now.all == now.anon + now.file + now.shmem && !memcmp(&before, &now, sizeof(now)))
			break;
	}
	length = snprintf(line, sizeof(line), "%u %lu %lu %lu %lu %lu %s\n", moment, now.anon, now.file,
			  now.shmem, now.all, now.swap, step);
	if (warming)
		return;
	moment++;
	if (write(log_file, line, (size_t)length) != length)
		die("log");
}

/* Creates a file of @pages pages that is in the page cache. */
static int make_file(size_t pages)
{
	char path[] = "/tmp/resident.XXXXXX";
	static const char page[PAGE] = "page";
	int fd = mkstemp(path);

	if (fd < 0)
		die(path);
	unlink(path);
	for (size_t i = 0; i < pages; i++)
		if (write(fd, page, PAGE) != (ssize_t)PAGE)
			die("write");
	return fd;
}

static char *map_file(int fd, size_t pages, int prot, int flags)
{
	char *at = mmap(NULL, pages * PAGE, prot, flags, fd, 0);

	if (at == MAP_FAILED)
		die("mmap of a file");
	return at;
}

static void zero_page(void)
{
	char *at = map_small(64, 0);

	read_from(at, 64);
	write_to(at, 32);
	munmap(at, 64 * PAGE);
}

static char *kept; /* memory that touch() keeps mapped for later steps; shared by all threads */

static void touch(void)
{
	char *at = map_small(300, 0);

	write_to(at, 300);
	if (!kept)
		kept = at;
}

static void a_few(void)
{
	write_to(map_small(7, 0), 5);
}

static void populate(void)
{
	map_small(200, MAP_POPULATE);
}

static void populate_few(void)
{
	map_small(9, MAP_POPULATE);
}

static void madvise_populate(void)
{
	char *at = map_small(80, 0);

	madvise(at, 80 * PAGE, MADV_POPULATE_WRITE);
}

static void lock(void)
{
	char *at = map_small(90, 0);

	mlock(at + PAGE, 10 * PAGE);
	mlock(at, 80 * PAGE);
}

static void by_the_kernel(void)
{
	char *at = map_small(130, 0);
	int fd = make_file(120);

	if (pread(fd, at, 120 * PAGE, 0) != (ssize_t)(120 * PAGE))
		die("pread");
	close(fd);
}

static void file_read(void)
{
	int fd = make_file(200);
	char *at = map_file(fd, 200, PROT_READ, MAP_PRIVATE);

	read_from(at, 30);
	sink += at[100 * PAGE];
	sink += at[150 * PAGE];
	munmap(at + 10 * PAGE, 7 * PAGE);
	close(fd);
}

static void file_private(void)
{
	int fd = make_file(100);
	char *at = map_file(fd, 100, PROT_READ | PROT_WRITE, MAP_PRIVATE);

	read_from(at, 50);
	write_to(at + 20 * PAGE, 50);
	madvise(at, 40 * PAGE, MADV_DONTNEED);
	close(fd);
}

static void file_truncated(void)
{
	int fd = make_file(100);
	char *at = map_file(fd, 100, PROT_READ | PROT_WRITE, MAP_PRIVATE);

	read_from(at, 100);
	write_to(at, 20);
	if (ftruncate(fd, 10 * PAGE))
		die("ftruncate");
	close(fd);
}

static void shmem(void)
{
	char *at = map(150, MAP_SHARED);

	write_to(at, 100);
	read_from(at + 100 * PAGE, 20);
	madvise(at + 10 * PAGE, 30 * PAGE, MADV_DONTNEED);
	madvise(at + 60 * PAGE, 20 * PAGE, MADV_REMOVE);
	read_from(at, 20);
}

static void memfd(void)
{
	int fd = memfd_create("resident", MFD_CLOEXEC);
	char *at;

	if (ftruncate(fd, 60 * PAGE))
		die("ftruncate");
	at = map_file(fd, 60, PROT_READ | PROT_WRITE, MAP_SHARED);
	write_to(at, 60);
	if (ftruncate(fd, 25 * PAGE))
		die("ftruncate");
	close(fd);
}

static void huge(void)
{
	char *at = map(3 * HUGE / PAGE, MAP_PRIVATE);
	char *aligned = (char *)(((uintptr_t)at + HUGE - 1) & ~(HUGE - 1));

	madvise(aligned, 2 * HUGE, MADV_HUGEPAGE);
	for (size_t i = 0; i < 2 * HUGE; i += PAGE)
		aligned[i] = 1;
	madvise(aligned + 64 * PAGE, 100 * PAGE, MADV_DONTNEED);
	aligned[70 * PAGE] = 1;
	munmap(aligned + HUGE, HUGE);
}

static void dontneed(void)
{
	char *at = map_small(100, 0);

	write_to(at, 100);
	madvise(at + 20 * PAGE, 50 * PAGE, MADV_DONTNEED);
	write_to(at + 30 * PAGE, 10);
}

static void freed(void)
{
	char *at = map_small(100, 0);

	write_to(at, 100);
	madvise(at, 100 * PAGE, MADV_FREE);
	write_to(at, 50);
}

static void paged_out(void)
{
	char *at = map_small(100, 0);
	int fd = make_file(50);
	char *file = map_file(fd, 50, PROT_READ, MAP_PRIVATE);

	write_to(at, 100);
	madvise(at, 60 * PAGE, MADV_PAGEOUT);
	read_from(at, 30);
	read_from(file, 50);
	madvise(file, 50 * PAGE, MADV_PAGEOUT);
	close(fd);
}

static void unmapped(void)
{
	char *at = map_small(200, 0);

	write_to(at, 150);
	munmap(at + 50 * PAGE, 50 * PAGE);
	/* Uses MAP_FIXED to replace part of the old mapping, which removes that part without a call to munmap. */
	mmap(at, 20 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static void moved(void)
{
	char *at = map_small(100, 0), *to = map_small(300, 0);

	write_to(at, 60);
	at = mremap(at, 100 * PAGE, 200 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	if (at == MAP_FAILED)
		die("mremap");
	write_to(at + 80 * PAGE, 50);
	munmap(at, 30 * PAGE);
	at = mremap(at + 30 * PAGE, 170 * PAGE, 40 * PAGE, MREMAP_MAYMOVE);
	madvise(at, 10 * PAGE, MADV_DONTNEED);
}

static void brk_heap(void)
{
	char *at = sbrk(50 * PAGE);

	write_to(at, 49);
	sbrk(-20 * (long)PAGE);
}

static void grow_stack(void)
{
	char deep[60 * PAGE];

	write_to(deep, 60);
	sink += deep[17];
}

static void forked(void)
{
	char *at = map_small(100, 0);
	int pipes[2];
	pid_t child;
	char byte;

	write_to(at, 100);
	if (pipe(pipes))
		die("pipe");
	child = fork();
	if (!child) {
		write_to(at, 30);
		read(pipes[0], &byte, 1);
		_exit(0);
	}
	write_to(at + 20 * PAGE, 60);
	madvise(at + 40 * PAGE, 10 * PAGE, MADV_DONTNEED);
	if (write(pipes[1], "", 1) != 1 || waitpid(child, NULL, 0) != child)
		die("fork");
	close(pipes[0]);
	close(pipes[1]);
}

static void from_elsewhere(void)
{
	char *at = map_small(100, 0), *from = map_small(100, 0);
	struct iovec local, remote;
	pid_t child;

	/* A child writes to its parent's memory. */
	write_to(from, 100);
	local = (struct iovec){ from, 70 * PAGE };
	remote = (struct iovec){ at, 70 * PAGE };
	child = fork();
	if (!child)
		_exit(process_vm_writev(getppid(), &local, 1, &remote, 1, 0) < 0);
	if (waitpid(child, NULL, 0) != child)
		die("fork");
}

/* The steps of this program. A step with @alone set affects the whole process, so the threads do not execute it. */
static const struct {
	const char *name;
	void (*run)(void);
	int alone;
} steps[] = {
	{ "nothing", NULL, 0 },
	{ "zero_page", zero_page, 0 },
	{ "touch", touch, 0 },
	{ "a_few", a_few, 0 },
	{ "populate", populate, 0 },
	{ "populate_few", populate_few, 0 },
	{ "madvise_populate", madvise_populate, 0 },
	{ "lock", lock, 0 },
	{ "by_the_kernel", by_the_kernel, 0 },
	{ "file_read", file_read, 0 },
	{ "file_private", file_private, 0 },
	{ "file_truncated", file_truncated, 0 },
	{ "shmem", shmem, 0 },
	{ "memfd", memfd, 0 },
	{ "huge", huge, 0 },
	{ "dontneed", dontneed, 0 },
	{ "freed", freed, 0 },
	{ "paged_out", paged_out, 0 },
	{ "unmapped", unmapped, 0 },
	{ "moved", moved, 0 },
	{ "brk_heap", brk_heap, 1 },
	{ "grow_stack", grow_stack, 1 },
	{ "forked", forked, 1 },
	{ "from_elsewhere", from_elsewhere, 1 },
};
#define STEPS (sizeof(steps) / sizeof(steps[0]))

static pthread_barrier_t barrier;

/* Each thread executes the steps in a different order, so that different steps run at the same time. */
static void *work(void *arg)
{
	size_t number = (size_t)(uintptr_t)arg;

	for (size_t round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&barrier);
		for (size_t i = 0; i < STEPS; i++) {
			size_t step = (i * 7 + number * 5 + round) % STEPS;

			if (steps[step].run && !steps[step].alone)
				steps[step].run();
		}
		sync_counters();
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void with_threads(void)
{
	pthread_t threads[THREADS];

	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			die("pthread_create");
	for (size_t round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		/* Give the other threads time to block at the next barrier. */
		usleep(50000);
		tell("round");
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	tell("joined");
}

static char *waited_for;	/* pages that a userfaultfd provides, one for each waiting thread */

static void *wait_for_page(void *arg)
{
	size_t number = (size_t)(uintptr_t)arg;
	char *page = waited_for + number * PAGE;

	sync_counters();
	if (mlock(page, PAGE) || munlock(page, PAGE))
		die("mlock");
	sync_counters();
	return NULL;
}

static void register_pages(int fd, size_t pages)
{
	struct uffdio_register range = {
		.range = { (uintptr_t)waited_for, pages * PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	struct uffdio_api api = { .api = UFFD_API };

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		die("userfaultfd");
}

/*
 * Has @count threads wait inside mlock at the same time, then provides their pages: the first half with UFFDIO_COPY,
 * the rest by unregistering them, so that the kernel provides them in the threads' own calls.
 */
static void with_waiting(size_t count)
{
	pthread_t *threads = calloc(count, sizeof(*threads));
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	static char content[PAGE] __attribute__((aligned(PAGE)));
	struct uffdio_range range;
	struct uffd_msg message;
	pthread_attr_t attr;
	char *stacks;

	waited_for = map_small(count, 0);
	register_pages(fd, count);
	/*
	 * The stacks are in one mapping: with more than 2,047 mappings, lockdep's count of the locks that a kernel takes
	 * to register an MMU notifier overflows.
	 */
	stacks = map_small(count * STACK_PAGES, 0);
	pthread_attr_init(&attr);
	for (size_t i = 0; i < count; i++) {
		pthread_attr_setstack(&attr, stacks + i * STACK_PAGES * PAGE, STACK_PAGES * PAGE);
		if (!threads || pthread_create(&threads[i], &attr, wait_for_page, (void *)(uintptr_t)i))
			die("pthread_create");
	}
	for (size_t i = 0; i < count; i++)
		if (read(fd, &message, sizeof(message)) != sizeof(message))
			die("userfaultfd");
	tell("waiting");
	for (size_t i = 0; i < count / 2; i++) {
		struct uffdio_copy copy = {
			.dst = (uintptr_t)waited_for + i * PAGE,
			.src = (uintptr_t)content,
			.len = PAGE,
		};

		if (ioctl(fd, UFFDIO_COPY, &copy))
			die("UFFDIO_COPY");
	}
	range = (struct uffdio_range){ (uintptr_t)waited_for, count * PAGE };
	if (ioctl(fd, UFFDIO_UNREGISTER, &range))
		die("UFFDIO_UNREGISTER");
	for (size_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	tell("provided");
	munmap(waited_for, count * PAGE);
	munmap(stacks, count * STACK_PAGES * PAGE);
	tell("gone");
	close(fd);
}

/* Repeats the steps, so that the program runs longer. */
static void again(void)
{
	for (size_t round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < STEPS; i++)
			if (steps[i].run && !steps[i].alone)
				steps[i].run();
		tell("again");
	}
}

int main(int argc, char **argv)
{
	const char *path = getenv("RESIDENT_LOG");

	memset(text, 1, sizeof(text));
	log_file = open(path ? path : "/dev/null", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (log_file < 0)
		die("RESIDENT_LOG");
	warming = 1;
	tell("");
	warming = 0;
	if (argc > 2 && !strcmp(argv[1], "waiting"))
		with_waiting(strtoul(argv[2], NULL, 10));
	for (size_t i = 0; i < STEPS; i++) {
		if (steps[i].run)
			steps[i].run();
		tell(steps[i].name);
	}
	if (argc > 1 && !strcmp(argv[1], "threads"))
		with_threads();
	if (argc > 1 && !strcmp(argv[1], "again"))
		again();
	return 0;
}
