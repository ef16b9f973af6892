// SPDX-License-Identifier: GPL-2.0
// The module keeps little memory for a thread that stays in one system call while many sessions attach to it and are closed.
//
// Hooks queue work that the thread does when it returns to user mode. Until then, the work keeps the target, and some
// of it the session.
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_module.h"
#include "selftests/lib/kmod_session.h"

#define RING		(64 << 10)
#define PAGE		4096ul
#define SESSIONS	20
#define PAGES		(SESSIONS + 1)

/* The number of pieces of work of one kind that the module keeps for a thread (MASSIF_THREAD_LIMIT). */
#define KEPT		8

/* The child's system call writes to these pages, and waits at each until the test provides it. */
static char *pages;

/* Receives all pages in one system call. */
static int receive(int from)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return recv(from, pages, PAGES * PAGE, MSG_WAITALL) == (ssize_t)(PAGES * PAGE) ? 0 : 1;
}

static void *lock_all(void *unused)
{
	(void)unused;
	return mlock(pages, PAGES * PAGE) ? pages : NULL;
}

/*
 * Locks all pages in one system call of a second thread, which waits at each page until the first thread has received a
 * page. The second thread then handles the fault itself.
 */
static int lock(int from)
{
	static char page[PAGE];
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { (uintptr_t)pages, PAGES * PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	pthread_t thread;
	void *failed;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range) ||
	    pthread_create(&thread, NULL, lock_all, NULL))
		return 1;
	for (uint64_t i = 0; i < PAGES; i++) {
		struct uffdio_range next = { .start = (uintptr_t)pages + i * PAGE, .len = PAGE };

		if (recv(from, page, PAGE, MSG_WAITALL) != (ssize_t)PAGE || ioctl(fd, UFFDIO_UNREGISTER, &next))
			return 2;
	}
	return pthread_join(thread, &failed) || failed ? 3 : 0;
}

/* Waits until the process has page @index of @pages in memory. */
static bool has_page(pid_t pid, uint64_t index)
{
	uint64_t place = ((uintptr_t)pages / PAGE + index) * sizeof(uint64_t), entry = 0;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	fd = open(path, O_RDONLY);
	for (unsigned int tries = 0; tries < 500 * patience() && !(entry >> 63); tries++) {
		usleep(10000);
		if (pread(fd, &entry, sizeof(entry), place) != sizeof(entry))
			break;
	}
	close(fd);
	return entry >> 63;
}

static void send_page(struct __test_metadata *_metadata, int to)
{
	static const char page[PAGE];

	ASSERT_EQ((ssize_t)PAGE, send(to, page, PAGE, 0));
}

/*
 * Attaches one session after another to a child that calls @run, and gives the child one page in each session. Stores
 * the number of references to the module that are left in @left, and then lets the child end.
 */
static void attach_many(struct __test_metadata *_metadata, int (*run)(int from), uint32_t max_stack, int *left)
{
	struct massif_setup setup = {
		.flags = MASSIF_SETUP_RESIDENT,
		.ring_bytes = RING,
		.max_stack_bytes = max_stack,
	};
	int ends[2], code;
	pid_t pid;

	pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)pages);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	pid = fork();
	if (!pid) {
		close(ends[1]);
		_exit(run(ends[0]));
	}
	close(ends[0]);
	for (int i = 0; i < SESSIONS; i++) {
		struct kmod_session session;

		ASSERT_EQ(0, kmod_session_open_as(&session, &setup));
		ASSERT_EQ(0, kmod_session_attach(session.fd, pid));
		send_page(_metadata, ends[1]);
		ASSERT_TRUE(has_page(pid, i));
		kmod_session_close(&session);
	}
	*left = kmod_module_users();
	for (int i = SESSIONS; i < PAGES; i++)
		send_page(_metadata, ends[1]);
	ASSERT_EQ(pid, waitpid(pid, &code, 0));
	EXPECT_EQ(0, code);
	close(ends[1]);
	munmap(pages, PAGES * PAGE);
}

/* An empty fixture. It exists because only tests with a fixture can have a time limit of their own. */
FIXTURE(one_call)
{
};

FIXTURE_SETUP(one_call)
{
}

FIXTURE_TEARDOWN(one_call)
{
}

TEST_F_TIMEOUT(one_call, keeps_few_stack_copies, 120)
{
	int left;

	attach_many(_metadata, receive, 4096, &left);
	EXPECT_LT(0, left);
	EXPECT_GE(KEPT, left);
}

TEST_F_TIMEOUT(one_call, keeps_few_spans, 120)
{
	int left;

	/* While a thread waits in a page fault, that can have a reference, too. */
	attach_many(_metadata, lock, 0, &left);
	EXPECT_LT(0, left);
	EXPECT_GE(KEPT + 1, left);
}

TEST_HARNESS_MAIN
