// SPDX-License-Identifier: GPL-2.0
// Counts the guest instructions of several paths through the kernel, with and without massif.ko. Prints one line per
// path and state.
#include <fcntl.h>
#include <linux/massif.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

/*
 * In a guest under -icount shift=0, the time stamp counter counts instructions. Each run of a path is measured
 * separately, and the median is taken, so that timer interrupts during a few runs do not matter.
 *
 * usage: kernel_paths STATE
 *
 * Prints "STATE PATH MEDIAN" for each path. If STATE is a name in states[], this program creates that state itself.
 */
#define RUNS	1001
#define RING	(32 << 20)
#define LEN	16384UL
#define PAGE	4096UL
/* Size in bytes of a typical program's stack. A STACK record contains a copy of this stack. */
#define DEPTH	2048
#define SLOTS	36

static uint64_t runs[RUNS];

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void say(FILE *out, const char *state, const char *path)
{
	qsort(runs, RUNS, sizeof(*runs), by_value);
	fprintf(out, "%s %s %lu\n", state, path, (unsigned long)runs[RUNS / 2]);
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void *map(void *at, size_t len, int prot, int flags)
{
	void *p = mmap(at, len, prot, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

/*
 * Measures an mmap into a hole in a larger mapping, followed by a munmap. @around is the protection of the larger
 * mapping; the new mapping has PROT_READ | PROT_WRITE. If the protections are the same, the kernel merges the two
 * mappings.
 */
static void pairs(FILE *out, const char *state, const char *path, int around)
{
	char *base = map(NULL, 64 * LEN, around, 0);
	char *hole = base + 32 * LEN;
	int i;

	munmap(hole, LEN);
	for (i = 0; i < RUNS; i++) {
		uint64_t start = __rdtsc();

		mmap(hole, LEN, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		munmap(hole, LEN);
		runs[i] = __rdtsc() - start;
	}
	munmap(base, 64 * LEN);
	say(out, state, path);
}

static void faults(FILE *out, const char *state)
{
	char *base = map(NULL, RUNS * PAGE, PROT_READ | PROT_WRITE, 0);
	int i;

	madvise(base, RUNS * PAGE, MADV_NOHUGEPAGE);
	for (i = 0; i < RUNS; i++) {
		uint64_t start = __rdtsc();

		*(volatile char *)(base + i * PAGE) = 1;
		runs[i] = __rdtsc() - start;
	}
	munmap(base, RUNS * PAGE);
	say(out, state, "fault");
}

static void calls(FILE *out, const char *state)
{
	int i;

	for (i = 0; i < RUNS; i++) {
		uint64_t start = __rdtsc();

		syscall(SYS_getppid);
		runs[i] = __rdtsc() - start;
	}
	say(out, state, "syscall");
}

static __attribute__((noinline)) int measure(FILE *out, const char *state)
{
	volatile char depth[DEPTH];

	/*
	 * The module may copy this array as part of the stack, or compare it with the stack cache. Clear the array, so
	 * that its contents are the same in every call to measure().
	 */
	memset((char *)depth, 0, sizeof(depth));
	pairs(out, state, "pair", PROT_NONE);
	pairs(out, state, "merged", PROT_READ | PROT_WRITE);
	faults(out, state);
	calls(out, state);
	fflush(out);
	return ferror(out) || depth[0];
}

/*
 * The STATE arguments for which this program itself creates the state. Any other STATE argument is only a label for the
 * results.
 */
static const struct state {
	const char *name;
	bool child;		/* which process is the member of the session: a child (true) or this process (false) */
	uint32_t max_stack;
	uint64_t flags;
	uint32_t known;		/* size of the stack cache in bytes, filled with the stacks of the first run; 0: none */
} states[] = {
	{ "open", true, 4096, 0, 0 },
	{ "bare", false, 0, 0, 0 },
	{ "traced", false, 4096, 0, 0 },
	{ "known", false, 4096, 0, 1 << 20 },
	{ "r-open", true, 4096, MASSIF_SETUP_RESIDENT, 0 },
	{ "r-bare", false, 0, MASSIF_SETUP_RESIDENT, 0 },
	{ "r-traced", false, 4096, MASSIF_SETUP_RESIDENT, 0 },
	{ "r-known", false, 4096, MASSIF_SETUP_RESIDENT, 1 << 20 },
};

static void enrol(int fd)
{
	struct massif_enrol enrol = { .size = sizeof(enrol) };

	if (ioctl(fd, MASSIF_IOC_ENROL, &enrol))
		die("enrol");
}

static int open_session(const struct state *state)
{
	struct massif_setup setup = {
		.size = sizeof(setup),
		.abi = MASSIF_ABI,
		.ring_bytes = RING,
		.max_stack_bytes = state->max_stack,
		.flags = state->flags,
		.known_bytes = state->known,
	};
	int fd = open(MASSIF_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, MASSIF_IOC_SETUP, &setup))
		die("session");
	return fd;
}

/*
 * Opens a session unless @state is NULL. Returns its descriptor, or -1. The address space must be the same in every
 * state; otherwise the kernel's tree of mappings would have a different shape and take a different amount of time to
 * search. So the ring is not mapped, and the session is opened by a child that shares only the descriptors of this
 * process.
 */
static int begin(const struct state *state)
{
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
	int status;

	if (pid < 0)
		die("opener");
	if (!pid)
		_exit(state ? open_session(state) : 0);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
	    (state && WEXITSTATUS(status) <= STDERR_FILENO))
		exit(1);
	if (!state)
		return -1;
	if (!state->child)
		enrol(WEXITSTATUS(status));
	return WEXITSTATUS(status);
}

/*
 * Adds each stack in the ring to the stack cache. The cache also needs the stack words that were read during unwinding.
 * Here, these are SLOTS words of measure()'s frame, which do not change. SLOTS is roughly the number of words that must
 * be read to unwind twenty frames.
 */
static void tell(int fd)
{
	const size_t page = getpagesize();
	uint8_t *data = mmap(NULL, RING, PROT_READ, MAP_SHARED, fd, MASSIF_MMAP_DATA * page);
	struct massif_control *control =
		mmap(NULL, page, PROT_READ, MAP_SHARED, fd, MASSIF_MMAP_CONTROL * page);
	struct {
		struct massif_stack_cache_stack head;
		struct massif_stack_cache_word words[SLOTS];
	} told;
	struct massif_stack_cache known = {
		.size = sizeof(known),
		.stacks = (uintptr_t)&told,
		.bytes = sizeof(told),
	};
	const struct massif_record *rec;
	uint64_t at;
	int i;

	if (data == MAP_FAILED || control == MAP_FAILED)
		die("ring");
	for (at = 0; at < control->head; at += rec->size) {
		const struct massif_rec_stack *stack = (const void *)(data + at);
		const uint64_t *words = (const void *)((const char *)stack + stack->data_off);

		rec = &stack->h;
		if (rec->type != MASSIF_REC_STACK || stack->bytes < DEPTH)
			continue;
		memset(&told, 0, sizeof(told));
		told.head = (struct massif_stack_cache_stack){
			.size = sizeof(told),
			.target = rec->target,
			.number = rec->capture,
			.code_gen = stack->code_gen,
			.pc = stack->regs[MASSIF_X86_64_REGS - 1],
			.sp = stack->sp,
			.nr_slots = SLOTS,
		};
		for (i = 0; i < SLOTS; i++) {
			told.words[i].place = DEPTH / 8 + i * (DEPTH * 3 / 4 / SLOTS & ~7);
			told.words[i].value = words[told.words[i].place / 8];
		}
		if (ioctl(fd, MASSIF_IOC_KNOWN, &known))
			die("known");
	}
	munmap(data, RING);
	munmap(control, page);
}

/*
 * Creates a child process that sleeps. The child exists in every STATE, even if no session follows it, so that all
 * states are measured with the same number of processes.
 */
static pid_t make_child(const struct state *state, int fd)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready) || (pid = fork()) < 0)
		die("child");
	if (!pid) {
		if (state && state->child)
			enrol(fd);
		if (write(ready[1], "", 1) != 1)
			die("write");
		for (;;)
			pause();
	}
	if (read(ready[0], &byte, 1) != 1)
		die("read");
	close(ready[0]);
	close(ready[1]);
	return pid;
}

/* Checks that no record was lost; otherwise the figures would be meaningless. */
static int check(const struct state *state, int fd)
{
	struct massif_status status = { .size = sizeof(status) };

	if (ioctl(fd, MASSIF_IOC_STATUS, &status))
		die("status");
	if (state->known && !status.known_used)
		fprintf(stderr, "no stack was recognised\n");
	else if (status.records && !status.lost && !status.missed && !status.unseen)
		return 0;
	fprintf(stderr, "records %lu, lost %lu, missed %lu, unseen %lu\n",
		(unsigned long)status.records, (unsigned long)status.lost,
		(unsigned long)status.missed, (unsigned long)status.unseen);
	return 1;
}

int main(int argc, char **argv)
{
	const struct state *state = NULL;
	size_t i;
	int fd, err;
	pid_t child;

	if (argc != 2) {
		fprintf(stderr, "usage: kernel_paths STATE\n");
		return 2;
	}
	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (!strcmp(argv[1], states[i].name))
			state = &states[i];
	fd = begin(state);
	child = make_child(state, fd);

	/* Warm up: the first run includes work that is done only once. */
	measure(fopen("/dev/null", "w"), "");
	if (state && state->known)
		tell(fd);
	err = measure(stdout, argv[1]);
	if (state)
		err |= check(state, fd);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return err;
}
