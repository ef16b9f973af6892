// SPDX-License-Identifier: GPL-2.0
// Tests the interface of /dev/massif with valid and invalid calls: ioctls, mappings, poll and permissions.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_model.h"
#include "selftests/lib/kmod_session.h"
#include "selftests/lib/process_state.h"

#define SYSLOG_ACTION_READ_ALL 3 /* from <linux/syslog.h>, which is not exported to user space */
#define SYSLOG_ACTION_SIZE_BUFFER 10
#define RING	(256 << 10)
#define STACK	(16 << 10)
#define USER	1000

static struct massif_setup good_setup(void)
{
	return (struct massif_setup){
		.size = sizeof(struct massif_setup),
		.abi = MASSIF_ABI,
		.ring_bytes = RING,
		.max_stack_bytes = STACK,
	};
}

FIXTURE(closed)
{
	int fd;
};

FIXTURE_SETUP(closed)
{
	ASSERT_EQ(0, kmod_session_be_user());
	self->fd = open(MASSIF_DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(closed)
{
	close(self->fd);
}

TEST_F(closed, query_says_who_it_is)
{
	struct massif_query query = { .size = sizeof(query) };

	ASSERT_EQ(0, ioctl(self->fd, MASSIF_IOC_QUERY, &query));
	EXPECT_EQ(MASSIF_ABI, query.abi);
	EXPECT_EQ(MASSIF_FEATURE_PAGES | MASSIF_FEATURE_STACKS | MASSIF_FEATURE_KNOWN | MASSIF_FEATURE_ATTACH,
		  query.features & ~MASSIF_FEATURE_RESIDENT);
	EXPECT_STREQ(MASSIF_VERSION, query.release);
}

TEST(node_is_not_for_everybody)
{
	struct stat st;

	ASSERT_EQ(0, stat(MASSIF_DEVICE, &st));
	EXPECT_TRUE(S_ISCHR(st.st_mode));
	EXPECT_EQ(0660, st.st_mode & 07777);
}

TEST_F(closed, unknown_ioctl_is_refused)
{
	EXPECT_EQ(-1, ioctl(self->fd, _IO('m', 0xaf)));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(-1, ioctl(self->fd, MASSIF_IOC_QUERY, (void *)8));
	EXPECT_EQ(EFAULT, errno);
}

/* Every ioctl except SETUP, and the offsets of the words in its argument that must be zero. */
static const struct {
	unsigned long cmd;
	size_t size;
	bool early;
	size_t words[2];	/* offsets of argument words that must be 0; an offset of 0 marks an unused entry */
} calls[] = {
#define PAD(type, field) __builtin_offsetof(struct type, field)
	{ MASSIF_IOC_QUERY, sizeof(struct massif_query), true,
	  { PAD(massif_query, flags), PAD(massif_query, __pad) } },
	{ MASSIF_IOC_ENROL, sizeof(struct massif_enrol), false,
	  { PAD(massif_enrol, flags), PAD(massif_enrol, __pad) } },
	{ MASSIF_IOC_RESYNC, sizeof(struct massif_resync), false, { PAD(massif_resync, flags) } },
	{ MASSIF_IOC_STATUS, sizeof(struct massif_status), false, { PAD(massif_status, flags) } },
	{ MASSIF_IOC_KNOWN, sizeof(struct massif_stack_cache), false, { PAD(massif_stack_cache, flags) } },
	{ MASSIF_IOC_ATTACH, sizeof(struct massif_attach), false, { PAD(massif_attach, flags) } },
	{ MASSIF_IOC_TEST, sizeof(struct massif_test), false, { PAD(massif_test, flags) } },
	{ MASSIF_IOC_HOOK, sizeof(struct massif_hook_info), false,
	  { PAD(massif_hook_info, flags), PAD(massif_hook_info, __pad) } },
};

#define CALLS	(sizeof(calls) / sizeof(calls[0]))

TEST_F(closed, every_size_flag_and_pad_is_checked)
{
	struct massif_setup setup = good_setup();
	union {
		uint32_t word[64];
		uint8_t byte[256];
	} arg;
	size_t i, j;

	ASSERT_EQ(0, ioctl(self->fd, MASSIF_IOC_SETUP, &setup));
	for (i = 0; i < CALLS; i++) {
		memset(&arg, 0, sizeof(arg));
		for (j = 0; j < 3; j++) {
			arg.word[0] = (uint32_t[]){ 0, calls[i].size - 4, calls[i].size + 4 }[j];
			EXPECT_EQ(-1, ioctl(self->fd, calls[i].cmd, &arg));
			EXPECT_EQ(EINVAL, errno);
		}
		for (j = 0; j < 2 && calls[i].words[j]; j++) {
			memset(&arg, 0, sizeof(arg));
			arg.word[0] = calls[i].size;
			arg.word[calls[i].words[j] / 4] = 0x80000000;
			EXPECT_EQ(-1, ioctl(self->fd, calls[i].cmd, &arg));
			EXPECT_EQ(EINVAL, errno);
		}
	}
}

/* Passes pointers to memory that is unmapped, partly unmapped, in the kernel's address range, or read-only. */
TEST_F(closed, every_pointer_is_checked)
{
	struct massif_setup setup = good_setup();
	size_t page = getpagesize();
	char *end = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, end);
	end += page;
	ASSERT_EQ(0, munmap(end, page));
	ASSERT_EQ(0, ioctl(self->fd, MASSIF_IOC_SETUP, &setup));
	for (size_t i = 0; i < CALLS; i++) {
		void *const bad[] = { NULL, (void *)8, (void *)0xffff888000001000, (void *)-8, end - 8 };

		*(uint32_t *)(end - 8) = calls[i].size;
		for (size_t j = 0; j < sizeof(bad) / sizeof(bad[0]); j++) {
			EXPECT_EQ(-1, ioctl(self->fd, calls[i].cmd, bad[j]));
			EXPECT_EQ(EFAULT, errno) {
				TH_LOG("call %zu, pointer %zu", i, j);
			}
		}
	}
	*(struct massif_query *)(end - page) = (struct massif_query){ .size = sizeof(struct massif_query) };
	ASSERT_EQ(0, mprotect(end - page, page, PROT_READ));
	EXPECT_EQ(-1, ioctl(self->fd, MASSIF_IOC_QUERY, end - page));
	EXPECT_EQ(EFAULT, errno);
}

TEST_F(closed, nothing_works_before_setup)
{
	struct pollfd pfd = { .fd = self->fd, .events = POLLIN };
	uint32_t arg[64];
	size_t i;

	for (i = 0; i < CALLS; i++) {
		memset(arg, 0, sizeof(arg));
		arg[0] = calls[i].size;
		if (calls[i].early)
			continue;
		EXPECT_EQ(-1, ioctl(self->fd, calls[i].cmd, arg));
		EXPECT_EQ(ENXIO, errno);
	}
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->fd, 0));
	EXPECT_EQ(ENXIO, errno);
	EXPECT_EQ(1, poll(&pfd, 1, 0));
	EXPECT_EQ(POLLERR, pfd.revents);
}

TEST_F(closed, setup_checks_everything)
{
	static const struct {
		size_t offset;
		uint64_t value;
		size_t width;
		int err;
	} bad[] = {
#define BAD(field, value, err) { PAD(massif_setup, field), value, \
	sizeof(((struct massif_setup *)NULL)->field), err }
		BAD(size, sizeof(struct massif_setup) - 8, EINVAL),
		BAD(abi, 0, EPROTONOSUPPORT),
		BAD(abi, MASSIF_ABI + 1, EPROTONOSUPPORT),
		BAD(flags, 4, EINVAL),
		BAD(flags, 1ULL << 63, EINVAL),
		BAD(ring_bytes, 0, EINVAL),
		BAD(ring_bytes, RING + 4096, EINVAL),
		BAD(ring_bytes, MASSIF_RING_MIN / 2, EINVAL),
		BAD(ring_bytes, MASSIF_RING_MAX * 2ULL, EINVAL),
		BAD(ring_bytes, 1ULL << 63, EINVAL),
		BAD(ring_bytes, STACK * 2, EINVAL),
		BAD(max_stack_bytes, 8, EINVAL),
		BAD(max_stack_bytes, 1001, EINVAL),
		BAD(max_stack_bytes, MASSIF_STACK_MAX + 8, EINVAL),
		BAD(max_stack_bytes, 0xffffffff, EINVAL),
		BAD(known_bytes, MASSIF_KNOWN_MAX + 1, EINVAL),
		BAD(known_bytes, 0xffffffff, EINVAL),
	};
	struct massif_setup setup;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		setup = good_setup();
		memcpy((char *)&setup + bad[i].offset, &bad[i].value, bad[i].width);
		EXPECT_EQ(-1, ioctl(self->fd, MASSIF_IOC_SETUP, &setup));
		EXPECT_EQ(bad[i].err, errno) {
			TH_LOG("row %zu", i);
		}
	}
	/* After all these invalid calls, a valid SETUP still succeeds. */
	setup = good_setup();
	EXPECT_EQ(0, ioctl(self->fd, MASSIF_IOC_SETUP, &setup));
	EXPECT_EQ(0, setup.dead_hook[0]);
	EXPECT_EQ(-1, ioctl(self->fd, MASSIF_IOC_SETUP, &setup));
	EXPECT_EQ(EBUSY, errno);
}

static int exit_status(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

FIXTURE(opened)
{
	struct kmod_session session;
	size_t page;
};

FIXTURE_SETUP(opened)
{
	ASSERT_EQ(0, kmod_session_be_user());
	self->page = getpagesize();
	ASSERT_EQ(0, kmod_session_open(&self->session, RING, STACK));
}

FIXTURE_TEARDOWN(opened)
{
	kmod_session_close(&self->session);
}

TEST_F(opened, every_hook_has_a_name)
{
	struct massif_hook_info info = { .size = sizeof(info) };
	unsigned int events = 0, fired = 0, count = 0;

	for (; !ioctl(self->session.fd, MASSIF_IOC_HOOK, &info); info.index++, count++) {
		EXPECT_NE(0, info.name[0]);
		EXPECT_NE(NULL, memchr(info.name, 0, sizeof(info.name)));
		events += info.kind == MASSIF_HOOK_TRACEPOINT;
		fired += info.state & MASSIF_HOOK_FIRED;
	}
	EXPECT_EQ(ENOENT, errno);
	EXPECT_EQ(3, events);
	/* No hook has fired yet, because the hook test has not run. */
	EXPECT_EQ(0, fired);
	EXPECT_LE(10, count);
	info.index = UINT32_MAX;
	EXPECT_EQ(-1, ioctl(self->session.fd, MASSIF_IOC_HOOK, &info));
	EXPECT_EQ(ENOENT, errno);
}

TEST_F(opened, control_page_describes_the_ring)
{
	EXPECT_EQ(MASSIF_ABI, self->session.control->abi);
	EXPECT_EQ(self->page, self->session.control->page_bytes);
	EXPECT_EQ(RING, self->session.control->data_bytes);
	EXPECT_EQ(0, self->session.control->head);
}

TEST_F(opened, only_the_consumer_page_can_be_written)
{
	static const struct {
		long pages;	/* number of pages to map, or 0 for one page more than the data area */
		long at;
		int prot;
		int flags;
		int err;
	} maps[] = {
		{ 1, MASSIF_MMAP_CONTROL, PROT_READ | PROT_WRITE, MAP_SHARED, EPERM },
		{ 2, MASSIF_MMAP_CONTROL, PROT_READ | PROT_WRITE, MAP_SHARED, EPERM },
		{ 2, MASSIF_MMAP_CONSUMER, PROT_READ | PROT_WRITE, MAP_SHARED, EPERM },
		{ 1, MASSIF_MMAP_DATA, PROT_READ | PROT_WRITE, MAP_SHARED, EPERM },
		{ 1, MASSIF_MMAP_DATA, PROT_WRITE, MAP_SHARED, EPERM },
		{ 1, MASSIF_MMAP_DATA, PROT_READ | PROT_EXEC, MAP_SHARED, EPERM },
		{ 1, MASSIF_MMAP_CONSUMER, PROT_READ | PROT_EXEC, MAP_SHARED, EPERM },
		{ 1, MASSIF_MMAP_DATA, PROT_READ, MAP_PRIVATE, EINVAL },
		{ 1, MASSIF_MMAP_CONSUMER, PROT_READ | PROT_WRITE, MAP_PRIVATE, EINVAL },
		{ 0, MASSIF_MMAP_DATA, PROT_READ, MAP_SHARED, ENXIO },
		{ 1, 1 << 20, PROT_READ, MAP_SHARED, ENXIO },
	};
	size_t i;

	for (i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		size_t len = maps[i].pages ? maps[i].pages * self->page : RING + self->page;

		EXPECT_EQ(MAP_FAILED, mmap(NULL, len, maps[i].prot, maps[i].flags,
					   self->session.fd, maps[i].at * self->page)) {
			TH_LOG("row %zu", i);
		}
		EXPECT_EQ(maps[i].err, errno) {
			TH_LOG("row %zu", i);
		}
	}
}

TEST_F(opened, mprotect_cannot_make_it_writable)
{
	EXPECT_EQ(-1, mprotect(self->session.control, self->page, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(self->session.data, RING, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(self->session.consumer, self->page, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
}

TEST_F(opened, a_file_opened_for_reading_has_no_writable_page)
{
	struct massif_setup setup = good_setup();
	int fd = open(MASSIF_DEVICE, O_RDONLY | O_CLOEXEC);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ioctl(fd, MASSIF_IOC_SETUP, &setup));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, self->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				   MASSIF_MMAP_CONSUMER * self->page));
	EXPECT_EQ(EACCES, errno);
	close(fd);
}

TEST_F(opened, fork_does_not_inherit_the_ring)
{
	unsigned char resident;
	pid_t pid;

	EXPECT_EQ(0, mincore(self->session.control, self->page, &resident));
	pid = fork();
	if (!pid)
		_exit(mincore(self->session.control, self->page, &resident) ? errno : 0);
	EXPECT_EQ(ENOMEM, exit_status(pid));
}

/* A mapping of the ring can be moved and shrunk, but it cannot be extended, made writable or made executable. */
TEST_F(opened, mremap_gives_no_more_of_it)
{
	size_t page = self->page;
	char *data = (char *)self->session.data, *moved;

	EXPECT_EQ(MAP_FAILED, mremap(self->session.control, page, 2 * page, MREMAP_MAYMOVE));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(MAP_FAILED, mremap(data, RING, 10 * RING, MREMAP_MAYMOVE));
	EXPECT_EQ(EFAULT, errno);
	/* mremap() with an old length of 0 would create a second mapping of the same pages. */
	EXPECT_EQ(MAP_FAILED, mremap(data, 0, page, MREMAP_MAYMOVE));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(MAP_FAILED, mremap(data, 0, RING + page, MREMAP_MAYMOVE));
	EXPECT_EQ(EFAULT, errno);

	moved = mmap(NULL, RING, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, moved);
	ASSERT_EQ(moved, mremap(data, RING, RING, MREMAP_MAYMOVE | MREMAP_FIXED, moved));
	self->session.data = (uint8_t *)moved;
	EXPECT_EQ(-1, mprotect(moved, RING, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(moved, RING, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	ASSERT_EQ(moved, mremap(moved, RING, page, 0));
	EXPECT_EQ(MAP_FAILED, mremap(moved, page, RING, 0));
	EXPECT_EQ(EFAULT, errno);
	self->session.bytes = page;
}

static int map_some(void *arg)
{
	int i, count = *(int *)arg;

	for (i = 0; i < count; i++) {
		void *p = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED || munmap(p, 8192))
			return 1;
	}
	return 0;
}

TEST_F(opened, a_tail_that_lies_only_hurts_the_liar)
{
	static const uint64_t lies[] = { ~0ULL, 1ULL << 63, 3, RING * 2, -8ULL };
	struct massif_status before, after;
	int count = 20;
	size_t i;

	for (i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		ASSERT_EQ(0, kmod_session_status(&self->session, &before));
		self->session.consumer->tail = lies[i];
		EXPECT_EQ(0, exit_status(kmod_session_call(&self->session, map_some, &count)));
		ASSERT_EQ(0, kmod_session_status(&self->session, &after));
		/* With an invalid tail, the ring is treated as full. */
		EXPECT_EQ(before.records, after.records);
		EXPECT_LT(before.lost + count, after.lost);
		self->session.consumer->tail = self->session.control->head;
	}
	ASSERT_EQ(0, kmod_session_status(&self->session, &before));
	EXPECT_EQ(0, exit_status(kmod_session_call(&self->session, map_some, &count)));
	ASSERT_EQ(0, kmod_session_status(&self->session, &after));
	EXPECT_LT(before.records + count, after.records);
	EXPECT_EQ(before.lost, after.lost);
}

static int enrol(int fd)
{
	return -kmod_session_enrol(fd);
}

static int enrol_again(void *arg)
{
	return enrol(*(int *)arg);
}

TEST_F(opened, a_process_is_in_one_session_at_most)
{
	struct kmod_session second;
	int same;

	ASSERT_EQ(0, kmod_session_open(&second, RING, STACK));
	EXPECT_EQ(EBUSY, exit_status(kmod_session_call(&self->session, enrol_again, &second.fd)));
	/*
	 * The child process closes the session's original descriptor, so it must use a duplicate of it to enrol again.
	 */
	same = dup(self->session.fd);
	EXPECT_EQ(EBUSY, exit_status(kmod_session_call(&self->session, enrol_again, &same)));
	close(same);
	kmod_session_close(&second);
}

TEST_F(opened, two_sessions_see_their_own)
{
	int few = 10, many = 50;
	struct kmod_session second;
	struct kmod_model a, b;
	pid_t first_pid, second_pid;

	kmod_model_init(&a);
	kmod_model_init(&b);
	ASSERT_EQ(0, kmod_session_open(&second, RING, STACK));
	first_pid = kmod_session_call(&self->session, map_some, &few);
	second_pid = kmod_session_call(&second, map_some, &many);
	EXPECT_EQ(0, exit_status(first_pid));
	EXPECT_EQ(0, exit_status(second_pid));
	EXPECT_EQ(0, kmod_session_drain(&self->session, 10000, kmod_model_apply, &a));
	EXPECT_EQ(0, kmod_session_drain(&second, 10000, kmod_model_apply, &b));
	EXPECT_LE(few, a.records[MASSIF_REC_MAP]);
	EXPECT_GT(many, a.records[MASSIF_REC_MAP]);
	EXPECT_LE(many, b.records[MASSIF_REC_MAP]);
	EXPECT_EQ(1, a.count);
	EXPECT_EQ(1, b.count);
	EXPECT_EQ(first_pid, a.targets[0].tgid);
	EXPECT_EQ(second_pid, b.targets[0].tgid);
	EXPECT_EQ(0, a.wrong + b.wrong);
	kmod_model_destroy(&a);
	kmod_model_destroy(&b);
	kmod_session_close(&second);
}

static int poll_now(int fd, int timeout)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, timeout) < 0 ? -errno : pfd.revents;
}

static int wait_for_byte(void *arg)
{
	int *fds = arg;
	int count = 5;
	char byte;

	close(fds[1]);
	if (read(fds[0], &byte, 1) != 1)
		return 1;
	map_some(&count);
	return read(fds[0], &byte, 1);
}

/* Maps and unmaps memory until end of file on standard input, which is a pipe. */
static int map_until_the_end(void *arg)
{
	int one = 1;
	char byte;

	while (read(*(int *)arg, &byte, 1) == 1)
		if (map_some(&one))
			return 1;
	return 0;
}

/* The session continues for as long as any of its pages are mapped. It ends when the last mapping is removed. */
TEST_F(opened, a_mapping_outlives_close)
{
	struct massif_attach attach = { .size = sizeof(attach) };
	struct kmod_session other;
	uint64_t head;
	int ends[2];
	pid_t child;

	ASSERT_EQ(0, pipe(ends));
	child = fork();
	if (!child) {
		close(ends[1]);
		_exit(enrol(self->session.fd) || close(self->session.fd) ? 1 : map_until_the_end(&ends[0]));
	}
	close(ends[0]);
	ASSERT_EQ(0, kmod_session_open(&other, RING, STACK));
	while (!__atomic_load_n(&self->session.control->head, __ATOMIC_ACQUIRE))
		usleep(1000);
	ASSERT_EQ(0, close(self->session.fd));

	attach.pid = child;
	EXPECT_EQ(-1, ioctl(other.fd, MASSIF_IOC_ATTACH, &attach));
	EXPECT_EQ(EBUSY, errno);
	head = __atomic_load_n(&self->session.control->head, __ATOMIC_ACQUIRE);
	ASSERT_EQ(1, write(ends[1], "", 1));
	while (__atomic_load_n(&self->session.control->head, __ATOMIC_ACQUIRE) == head)
		usleep(1000);

	ASSERT_EQ(0, munmap(self->session.control, self->page));
	ASSERT_EQ(0, munmap(self->session.data, RING));
	EXPECT_EQ(-1, ioctl(other.fd, MASSIF_IOC_ATTACH, &attach));
	EXPECT_EQ(EBUSY, errno);
	ASSERT_EQ(0, munmap(self->session.consumer, self->page));
	EXPECT_EQ(0, ioctl(other.fd, MASSIF_IOC_ATTACH, &attach)) {
		TH_LOG("%s", strerror(errno));
	}
	close(ends[1]);
	EXPECT_EQ(0, exit_status(child));
	kmod_session_close(&other);
	/* The fixture's teardown closes a session, so open one. */
	ASSERT_EQ(0, kmod_session_open(&self->session, RING, STACK));
}

#ifdef __x86_64__
/* Makes an ioctl() as a 32-bit program does: with its system call number, and with pointers below 4 GiB. */
static long ioctl_of_32_bits(int fd, unsigned int cmd, void *arg)
{
	long result;

	asm volatile("int $0x80"
		     : "=a"(result)
		     : "a"(54), "b"(fd), "c"(cmd), "d"(arg)
		     : "r8", "r9", "r10", "r11", "memory");
	return (int)result;
}

/* A 32-bit program uses the same structs, and is checked in the same way; its pointers have 32 bits. */
TEST(callers_of_32_bits)
{
	struct massif_setup *setup;
	struct massif_query *query;
	struct massif_status *status;
	struct massif_attach *attach;
	void *low;
	size_t i;
	int fd;

	ASSERT_EQ(0, kmod_session_be_user());
	low = mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	ASSERT_NE(MAP_FAILED, low);
	fd = open(MASSIF_DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd);

	query = low;
	query->size = sizeof(*query);
	ASSERT_EQ(0, ioctl_of_32_bits(fd, MASSIF_IOC_QUERY, query));
	EXPECT_EQ(MASSIF_ABI, query->abi);

	setup = low;
	*setup = good_setup();
	setup->flags = 1ULL << 63;
	EXPECT_EQ(-EINVAL, ioctl_of_32_bits(fd, MASSIF_IOC_SETUP, setup));
	*setup = good_setup();
	EXPECT_EQ(0, ioctl_of_32_bits(fd, MASSIF_IOC_SETUP, setup));

	for (i = 0; i < CALLS; i++) {
		memset(low, 0, 256);
		*(uint32_t *)low = calls[i].size - 4;
		EXPECT_EQ(-EINVAL, ioctl_of_32_bits(fd, calls[i].cmd, low));
		*(uint32_t *)low = calls[i].size;
		*(uint32_t *)((char *)low + calls[i].words[0]) = 0x80000000;
		EXPECT_EQ(-EINVAL, ioctl_of_32_bits(fd, calls[i].cmd, low));
		EXPECT_EQ(-EFAULT, ioctl_of_32_bits(fd, calls[i].cmd, (void *)8));
	}
	EXPECT_EQ(-ENOTTY, ioctl_of_32_bits(fd, _IO('m', 0xaf), low));

	status = low;
	memset(status, 0, sizeof(*status));
	status->size = sizeof(*status);
	EXPECT_EQ(0, ioctl_of_32_bits(fd, MASSIF_IOC_STATUS, status));
	EXPECT_EQ(0, status->targets);
	attach = low;
	*attach = (struct massif_attach){ .size = sizeof(*attach), .pid = getpid() };
	EXPECT_EQ(0, ioctl_of_32_bits(fd, MASSIF_IOC_ATTACH, attach));
	memset(status, 0, sizeof(*status));
	status->size = sizeof(*status);
	EXPECT_EQ(0, ioctl_of_32_bits(fd, MASSIF_IOC_STATUS, status));
	EXPECT_EQ(1, status->targets);
	close(fd);
	munmap(low, getpagesize());
}
#endif

TEST_F_TIMEOUT(opened, poll_tells_data_and_the_end, 120)
{
	struct kmod_session *session = &self->session;
	int fds[2];
	pid_t pid;

	EXPECT_EQ(0, poll_now(session->fd, 0));
	ASSERT_EQ(0, pipe(fds));
	pid = kmod_session_call(session, wait_for_byte, fds);
	close(fds[0]);
	/* Any record, such as ENROL, must wake the poller before the timeout. */
	EXPECT_EQ(POLLIN, poll_now(session->fd, 20000));

	ASSERT_TRUE(process_await_call(pid, SYS_read));
	while (kmod_session_next(session))
		;
	kmod_session_release(session);
	EXPECT_EQ(0, poll_now(session->fd, 0));

	/* The records of a few mappings do not reach the watermark, but the end of the process wakes the poller anyway. */
	session->consumer->watermark = RING / 2;
	ASSERT_EQ(1, write(fds[1], "x", 1));
	EXPECT_EQ(0, poll_now(session->fd, 500));
	while (!kmod_session_next(session))
		usleep(1000);
	ASSERT_TRUE(process_await_call(pid, SYS_read));
	EXPECT_EQ(0, poll_now(session->fd, 0));
	close(fds[1]);
	EXPECT_EQ(POLLIN, poll_now(session->fd, 20000) & POLLIN);
	EXPECT_EQ(0, exit_status(pid));
	EXPECT_EQ(POLLIN | POLLHUP, poll_now(session->fd, 0));
	while (kmod_session_next(session))
		;
	kmod_session_release(session);
	EXPECT_EQ(POLLHUP, poll_now(session->fd, 0));
}

TEST_F(opened, epoll_wakes_up)
{
	struct epoll_event event = { .events = EPOLLIN };
	int ep = epoll_create1(EPOLL_CLOEXEC), count = 1;
	pid_t pid;

	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->session.fd, &event));
	EXPECT_EQ(0, epoll_wait(ep, &event, 1, 0));
	pid = fork();
	if (!pid) {
		usleep(300 * 1000);
		_exit(enrol(self->session.fd) ?: map_some(&count));
	}
	EXPECT_EQ(1, epoll_wait(ep, &event, 1, 20000));
	EXPECT_EQ(0, exit_status(pid));
	close(ep);
}

TEST_F(opened, status_counts)
{
	struct massif_status status;
	int count = 10;

	ASSERT_EQ(0, kmod_session_status(&self->session, &status));
	EXPECT_EQ(0, status.records);
	EXPECT_EQ(0, exit_status(kmod_session_call(&self->session, map_some, &count)));
	ASSERT_EQ(0, kmod_session_status(&self->session, &status));
	EXPECT_EQ(status.records, self->session.control->records);
	EXPECT_LE(count, status.captures);
	EXPECT_EQ(0, status.captures_failed);
	EXPECT_EQ(0, status.lost);
	EXPECT_EQ(0, status.targets);
	EXPECT_EQ(0, status.pending);
}

/* Runs the session of an unprivileged user in a child. Returns 0, or the number of the step that failed. */
static int as_user(void)
{
	struct massif_setup setup = good_setup();
	int fd;

	/* The device node's mode decides who can open it. Here the node belongs to the user's group. */
	if (kmod_session_allow() || chown(MASSIF_DEVICE, 0, USER) || setresgid(USER, USER, 0) || setresuid(USER, USER, 0))
		return 1;
	fd = open(MASSIF_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return 2;
	if (ioctl(fd, MASSIF_IOC_SETUP, &setup))
		return 3;
	/* The user's session may not profile root's processes. */
	if (setresuid(0, 0, 0) || enrol(fd) != EPERM)
		return 4;
	/* A process that is not dumpable may not be profiled either. */
	if (setresgid(USER, USER, USER) || setresuid(USER, USER, USER) || prctl(PR_SET_DUMPABLE, 0) || enrol(fd) != EPERM)
		return 5;
	if (prctl(PR_SET_DUMPABLE, 1) || enrol(fd))
		return 6;
	return 0;
}

TEST(a_user_may_enrol_only_itself)
{
	pid_t pid = fork();

	if (!pid)
		_exit(as_user());
	EXPECT_EQ(0, exit_status(pid));
	EXPECT_EQ(0, chown(MASSIF_DEVICE, 0, 0));
}

/* Returns the number of lines in the kernel log that come from the module. */
static unsigned int lines_of_the_module(void)
{
	int size = klogctl(SYSLOG_ACTION_SIZE_BUFFER, NULL, 0), got;
	char *log = size > 0 ? malloc((size_t)size + 1) : NULL;
	unsigned int n = 0;

	if (!log)
		return 0;
	got = klogctl(SYSLOG_ACTION_READ_ALL, log, size);
	log[got > 0 ? got : 0] = '\0';
	for (const char *at = log; (at = strstr(at, "massif: ")); at++)
		n++;
	free(log);
	return n;
}

/* Makes calls fail in as many ways as possible, for example because of very low resource limits. */
static int fail_often(void)
{
	static const int resources[] = { RLIMIT_AS, RLIMIT_STACK, RLIMIT_MEMLOCK, RLIMIT_DATA };
	struct rlimit little = { 4096, 4096 };
	int fd;

	if (kmod_session_be_user())
		return 1;
	for (unsigned int i = 0; i < 200; i++) {
		struct massif_setup setup = {
			.size = sizeof(setup), .abi = MASSIF_ABI + i % 3 / 2, .flags = i % 5, .ring_bytes = 65536u << i % 4,
			.max_stack_bytes = i % 7 ? 4096 : 7, .known_bytes = i % 11 ? 4096 : UINT32_MAX,
		};
		struct massif_attach attach = { .size = sizeof(attach), .pid = (int)i - 1 };

		if (i >= 100 && i % 25 == 0)
			setrlimit(resources[i / 25 % 4], &little);
		fd = open(MASSIF_DEVICE, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return 2;
		ioctl(fd, MASSIF_IOC_SETUP, &setup);
		ioctl(fd, MASSIF_IOC_ATTACH, &attach);
		ioctl(fd, _IO('m', i), &setup);
		mmap(NULL, 4096 << i % 6, (int)i % 8, MAP_SHARED, fd, 4096 * (i % 5));
		close(fd);
	}
	return 0;
}

FIXTURE(log) {
};

FIXTURE_SETUP(log)
{
}

FIXTURE_TEARDOWN(log)
{
}

TEST_F_TIMEOUT(log, is_not_filled, 120)
{
	unsigned int before = lines_of_the_module();
	pid_t pid = fork();

	if (!pid)
		_exit(fail_often());
	EXPECT_EQ(0, exit_status(pid));
	EXPECT_EQ(before, lines_of_the_module());
}

TEST_HARNESS_MAIN
