// SPDX-License-Identifier: GPL-2.0
// Checks that the pages that a kernel worker faults in while it uses a program's address space are reported.
//
// A worker never returns to user mode, so the module must not defer any of its work until such a return. Each worker is
// kept alive until the consumer has read the records of its pages, because a worker that exits carries out the work
// that was deferred.
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/vhost.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_module.h"
#include "selftests/lib/kmod_session.h"

#define PAGE	4096ul
#define MARKS	0x600000000000ul	/* address at which the programs map the memory that their workers use */
#define PATIENCE_MS	10000
#define UNSEEN	9	/* exit status of a program if the consumer did not see the worker's pages in time */

FIXTURE(worker)
{
	uint64_t len;		/* length of the memory at MARKS, in which the worker's faults are counted */
	long wanted;		/* number of pages that must be reported before the program goes on */
	long pages;		/* number of pages added by threads other than the program's first one */
	/* number of @pages reported as faults at addresses in the memory that the program mapped at MARKS */
	long placed;
	uint32_t first;		/* thread id of the program's first thread */
	bool *is_seen;		/* in shared memory: true when @wanted pages have been reported */
};

/* Without detours, a worker's changes are reported one by one, without an address. */
FIXTURE_VARIANT(worker)
{
	const char *parameters;
	bool has_addresses;
};

FIXTURE_VARIANT_ADD(worker, in_detours) { "", true };
FIXTURE_VARIANT_ADD(worker, in_kretprobes) { "detours=0", false };

/* The test's fixture, for use by the profiled programs: these are functions that run in a child of the test. */
static FIXTURE_DATA(worker) *fixture;

FIXTURE_SETUP(worker)
{
	fixture = self;
	self->is_seen = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->is_seen);
	kmod_module_unload_soon("massif");
	ASSERT_EQ(0, kmod_module_load(variant->parameters));
}

/* A worker that has ended no longer uses the module. */
FIXTURE_TEARDOWN(worker)
{
	EXPECT_EQ(0, kmod_module_unload_soon("massif"));
	munmap(self->is_seen, PAGE);
}

static int count_pages(const struct massif_record *rec, void *arg)
{
	const struct massif_rec_resident *resident = (const void *)rec;
	FIXTURE_DATA(worker) *self = arg;

	if (rec->type == MASSIF_REC_ENROL)
		self->first = rec->tid;
	if (rec->type != MASSIF_REC_RESIDENT || rec->tid == self->first || resident->change[MASSIF_RSS_ANON] <= 0)
		return 0;
	self->pages += resident->change[MASSIF_RSS_ANON];
	if (resident->cause == MASSIF_RESIDENT_FAULT && resident->addr >= MARKS && resident->addr < MARKS + self->len)
		self->placed += resident->change[MASSIF_RSS_ANON];
	__atomic_store_n(self->is_seen, self->pages >= self->wanted, __ATOMIC_RELEASE);
	return 0;
}

/*
 * Runs @run as a profiled process, and counts the pages that its kernel worker touches. Returns the exit status, or -1.
 */
static int follow(FIXTURE_DATA(worker) *self, int (*run)(void *arg))
{
	struct massif_setup setup = { .ring_bytes = 1 << 20, .flags = MASSIF_SETUP_RESIDENT };
	struct kmod_session session;
	int code = -1;
	pid_t pid;

	if (kmod_session_open_as(&session, &setup))
		return -1;
	pid = kmod_session_call(&session, run, NULL);
	if (pid > 0 && (kmod_session_drain(&session, 2 * PATIENCE_MS, count_pages, self) || waitpid(pid, &code, 0) != pid))
		code = -1;
	kmod_session_close(&session);
	return code < 0 ? code : WEXITSTATUS(code);
}

/*
 * Called in the program: waits until the consumer, which reads the records, has seen the pages that the kernel worker
 * has touched. Returns the exit status for the program: 0, or UNSEEN if that takes too long.
 */
static int await_consumer(void)
{
	for (int i = 0; i < PATIENCE_MS && !__atomic_load_n(fixture->is_seen, __ATOMIC_ACQUIRE); i++)
		usleep(1000);
	return __atomic_load_n(fixture->is_seen, __ATOMIC_ACQUIRE) ? 0 : UNSEEN;
}

#define READ	256	/* pages read through io_uring */

/* Makes an io_uring worker read into pages that have never been touched. */
static int read_by_io_uring(void *arg)
{
	struct io_uring_params params = {};
	int ring = syscall(SYS_io_uring_setup, 4, &params), zero = open("/dev/zero", O_RDONLY);
	char *to = mmap((void *)MARKS, READ * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	struct io_uring_sqe *entry;
	struct io_uring_cqe *done;
	uint32_t *head;
	char *queue;

	(void)arg;
	if (ring < 0 || zero < 0 || to == MAP_FAILED || madvise(to, READ * PAGE, MADV_NOHUGEPAGE))
		return 1;
	queue = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	entry = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	if (queue == MAP_FAILED || entry == MAP_FAILED)
		return 2;
	*entry = (struct io_uring_sqe){
		.opcode = IORING_OP_READ,
		.flags = IOSQE_ASYNC,
		.fd = zero,
		.addr = (uintptr_t)to,
		.len = READ * PAGE,
	};
	*(uint32_t *)(queue + params.sq_off.array) = 0;
	__atomic_store_n((uint32_t *)(queue + params.sq_off.tail), 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		return 3;
	/* Since Linux 5.4, one mapping contains both the submission and the completion queue. */
	head = (uint32_t *)(queue + params.cq_off.head);
	done = (struct io_uring_cqe *)(queue + params.cq_off.cqes) + *head;
	return done->res == READ * PAGE ? await_consumer() : 4;
}

/*
 * Before Linux 6.2, each thread collects its changes to the counters of resident pages and adds them to the shared
 * counters after every 64 events. Without detours, a worker's changes are reported only at those times. Returns the
 * maximum number of pages that remain unreported while the worker is alive.
 */
static long kept_back(bool has_addresses)
{
	unsigned int major = 0, minor = 0;
	struct utsname name;

	uname(&name);
	if (sscanf(name.release, "%u.%u", &major, &minor) != 2)
		return -1;
	return has_addresses || major > 6 || (major == 6 && minor >= 2) ? 0 : 64;
}

TEST_F(worker, of_io_uring)
{
	long kept = kept_back(variant->has_addresses);

	ASSERT_LE(0, kept);
	self->len = READ * PAGE;
	self->wanted = READ - kept;
	EXPECT_EQ(0, follow(self, read_by_io_uring));
	EXPECT_LE(READ - kept, self->pages);
	EXPECT_GE(READ, self->pages);
	EXPECT_EQ(variant->has_addresses ? READ : 0, self->placed);
}

/*
 * The program maps VHOST_MEMORY bytes for the two virtqueues of the vhost device. Each virtqueue takes up VHOST_RING of
 * these bytes. Within them, its available ring is at offset VHOST_AVAIL, and its used ring at offset VHOST_USED.
 */
#define DEVICE		"/dev/vhost-vsock"
#define VHOST_MEMORY	(1ul << 20)
#define VHOST_RING	(VHOST_MEMORY / 2)
#define VHOST_AVAIL	(VHOST_RING / 4)
#define VHOST_USED	(VHOST_RING / 2)
#define VHOST_KICKS	5

/* Attaches virtqueue @index to the memory at @memory. Returns the eventfd that notifies the worker, or -1. */
static int connect_queue(int vhost, unsigned int index, char *memory)
{
	const uintptr_t at = (uintptr_t)memory + index * VHOST_RING;
	struct vhost_vring_state size = { .index = index, .num = 256 }, base = { .index = index };
	struct vhost_vring_addr addresses = {
		.index = index, .desc_user_addr = at, .avail_user_addr = at + VHOST_AVAIL, .used_user_addr = at + VHOST_USED,
	};
	struct vhost_vring_file kick = { .index = index, .fd = eventfd(0, EFD_NONBLOCK) };

	if (kick.fd < 0 || ioctl(vhost, VHOST_SET_VRING_NUM, &size) || ioctl(vhost, VHOST_SET_VRING_BASE, &base) ||
	    ioctl(vhost, VHOST_SET_VRING_ADDR, &addresses) || ioctl(vhost, VHOST_SET_VRING_KICK, &kick))
		return -1;
	return kick.fd;
}

/* Removes the page at @page, has the worker write to it, and waits until the page is present again. */
static bool let_it_write(int kick, char *page)
{
	unsigned char is_there = 0;
	uint64_t one = 1;

	if (madvise(page, PAGE, MADV_DONTNEED) || write(kick, &one, sizeof(one)) != sizeof(one))
		return false;
	for (int i = 0; i < PATIENCE_MS && !is_there; i++) {
		usleep(1000);
		if (mincore(page, PAGE, &is_there))
			return false;
	}
	return is_there;
}

/* Lets vhost's worker write to the used ring of a socket device. No virtual machine is needed for that. */
static int write_by_vhost(void *arg)
{
	struct {
		struct vhost_memory head;
		struct vhost_memory_region region;
	} memory = {
		.head = { .nregions = 1 }, .region = { .memory_size = VHOST_MEMORY, .userspace_addr = MARKS },
	};
	int vhost = open(DEVICE, O_RDWR), running = 1, kicks[2];
	uint64_t cid = 77;
	char *at = mmap((void *)MARKS, VHOST_MEMORY, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	(void)arg;
	if (vhost < 0 || at == MAP_FAILED || madvise(at, VHOST_MEMORY, MADV_NOHUGEPAGE))
		return 1;
	if (ioctl(vhost, VHOST_SET_OWNER) || ioctl(vhost, VHOST_VSOCK_SET_GUEST_CID, &cid) ||
	    ioctl(vhost, VHOST_SET_MEM_TABLE, &memory))
		return 2;
	for (unsigned int i = 0; i < 2; i++) {
		kicks[i] = connect_queue(vhost, i, at);
		if (kicks[i] < 0)
			return 3;
	}
	if (ioctl(vhost, VHOST_VSOCK_SET_RUNNING, &running))
		return 4;
	for (int i = 0; i < VHOST_KICKS; i++)
		if (!let_it_write(kicks[1], at + VHOST_RING + VHOST_USED))
			return 5;
	return await_consumer();
}

/*
 * Loads the running kernel's module for vhost's socket device, unless the device is built in. Returns false if there is
 * no such device.
 */
static bool load_vhost(void)
{
	struct utsname name;
	char command[4096];

	uname(&name);
	snprintf(command, sizeof(command), "modprobe -d '%s/guest/%s' vhost_vsock 2>&1", getenv("MASSIF_BUILD") ?: "build",
		 name.release);
	return (!access(DEVICE, F_OK) || !system(command)) && !access(DEVICE, R_OK | W_OK);
}

TEST_F(worker, of_vhost)
{
	if (!load_vhost())
		SKIP(return, "this kernel has no vhost_vsock");
	if (kept_back(variant->has_addresses))
		SKIP(return, "without detours, this kernel reports a worker's changes only after every 64");
	self->len = VHOST_MEMORY;
	self->wanted = VHOST_KICKS;
	EXPECT_EQ(0, follow(self, write_by_vhost));
	EXPECT_LE(VHOST_KICKS, self->pages);
	EXPECT_EQ(variant->has_addresses ? self->pages : 0, self->placed);
}

TEST_HARNESS_MAIN
