// SPDX-License-Identifier: GPL-2.0
// Answers perf_event_open(2) in place of the kernel: a seccomp filter passes the calls to another process.

#include "selftests/lib/counter_broker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES_MAX 4096u
#define TICK_MS	  1
/*
 * At least every TICK_MS milliseconds, the broker adds PER_TICK instructions to each counter that is not read with
 * rdpmc.
 */
#define PER_TICK  1000000

static struct counter_broker *broker;

/* State of the process that answers perf_event_open(). */
static struct perf_event_mmap_page *pages[PAGES_MAX];
static uint32_t n_pages;

struct counter_broker *counter_broker(void)
{
	if (!broker)
		broker = mmap(NULL, sizeof(*broker), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (broker == MAP_FAILED)
		abort();
	memset(broker, 0, sizeof(*broker));
	return broker;
}

static int open_time(pid_t thread)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/*
 * Updates the page of a counter in the same order as the kernel does. The kernel updates it on the processor on which
 * the reader runs, but the broker may run on another processor, so it uses atomic operations.
 */
static void change(struct perf_event_mmap_page *page, uint32_t index, uint64_t offset)
{
	__atomic_add_fetch(&page->lock, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&page->index, index, __ATOMIC_SEQ_CST);
	__atomic_store_n(&page->offset, (int64_t)offset, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&page->lock, 1, __ATOMIC_SEQ_CST);
}

static int make_page(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	int fd = memfd_create("counter", MFD_CLOEXEC);
	struct perf_event_mmap_page *page;

	if (fd < 0 || ftruncate(fd, (off_t)size) || n_pages == PAGES_MAX)
		return -1;
	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -1;
	page->pmc_width = 48;
	page->cap_user_rdpmc = 1;
	if (broker->ready)
		change(page, 1, COUNTER_START);
	pages[n_pages++] = page;
	return fd;
}

static void tick(void)
{
	for (uint32_t i = 0; i < n_pages; i++) {
		if (!pages[i]->index)
			change(pages[i], 0, (uint64_t)pages[i]->offset + PER_TICK);
	}
}

/* Makes rdpmc usable in the pages of all counters. Counting continues from the value reached so far. */
static void get_ready(void)
{
	broker->ready = 1;
	broker->before_ready = n_pages ? (uint64_t)pages[n_pages - 1]->offset : 0;
	for (uint32_t i = 0; i < n_pages; i++)
		change(pages[i], 1, (uint64_t)pages[i]->offset + COUNTER_START);
}

/*
 * Returns true if the perf_event_open() call opens an instruction counter for the calling thread itself. Also returns
 * true if the call's arguments cannot be read: on some systems only an ancestor may read a program's memory, and the
 * broker is not an ancestor.
 */
static bool is_expected(const struct seccomp_notif *asked)
{
	struct perf_event_attr attr = { 0 };
	struct iovec here = { &attr, PERF_ATTR_SIZE_VER0 };
	struct iovec there = { (void *)asked->data.args[0], PERF_ATTR_SIZE_VER0 };

	if (process_vm_readv((pid_t)asked->pid, &here, 1, &there, 1, 0) != PERF_ATTR_SIZE_VER0)
		return errno == EPERM;
	return attr.type == PERF_TYPE_HARDWARE && attr.config == PERF_COUNT_HW_INSTRUCTIONS &&
	       attr.exclude_kernel && attr.exclude_hv && !attr.exclude_user && !attr.inherit &&
	       (int)asked->data.args[1] == 0 && (int)asked->data.args[2] == -1 &&
	       (int)asked->data.args[3] == -1 && asked->data.args[4] == PERF_FLAG_FD_CLOEXEC;
}

static void refuse(int listener, const struct seccomp_notif *asked, int error)
{
	struct seccomp_notif_resp answer = { .id = asked->id, .error = -error };

	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

static void give(int listener, const struct seccomp_notif *asked)
{
	int fd = broker->kind == COUNTER_OF_TIME ? open_time((pid_t)asked->pid) : make_page();
	struct seccomp_notif_addfd answer = {
		.id = asked->id,
		.srcfd = (uint32_t)fd,
		.newfd_flags = O_CLOEXEC,
		.flags = SECCOMP_ADDFD_FLAG_SEND,
	};

	if (fd < 0) {
		refuse(listener, asked, EIO);
		return;
	}
	ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &answer);
	close(fd);
}

static void answer_one(int listener)
{
	struct seccomp_notif asked = { 0 };

	/* poll() may also return because of a signal. */
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked))
		return;
	if (!asked.data.args[0]) {
		get_ready();
		refuse(listener, &asked, EFAULT);
		return;
	}
	if (!is_expected(&asked))
		__atomic_add_fetch(&broker->asked_else, 1, __ATOMIC_SEQ_CST);
	if (__atomic_fetch_add(&broker->asked, 1, __ATOMIC_SEQ_CST) >= broker->spared &&
	    broker->error)
		refuse(listener, &asked, broker->error);
	else
		give(listener, &asked);
}

/*
 * Answers the perf_event_open() calls that the seccomp filter intercepts, until all processes with the filter have
 * ended.
 */
static void answer(int listener)
{
	struct pollfd polled = { .fd = listener, .events = POLLIN };

	while (!(polled.revents & POLLHUP)) {
		if (poll(&polled, 1, TICK_MS) > 0 && polled.revents & POLLIN)
			answer_one(listener);
		tick();
	}
}

union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

static bool send_descriptor(int socket, int fd)
{
	union control control = { 0 };
	char byte = 0;
	struct iovec data = { &byte, 1 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
					 .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	return sendmsg(socket, &message, 0) == 1;
}

static int receive_descriptor(int socket)
{
	union control control = { 0 };
	char byte;
	struct iovec data = { &byte, 1 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int fd;

	if (recvmsg(socket, &message, 0) != 1 || message.msg_controllen < CMSG_LEN(sizeof(int)))
		return -1;
	memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	return fd;
}

/*
 * Starts the broker, the process that answers intercepted perf_event_open() calls. The broker is not a child of the
 * test. It closes all descriptors inherited from the test except its socket, because some of them are pipes that the
 * test reads until end of file.
 */
static void start_answering(int sockets[2])
{
	pid_t pid = fork();
	int listener;

	if (pid < 0)
		abort();
	if (pid > 0) {
		waitpid(pid, NULL, 0);
		return;
	}
	if (fork())
		_exit(0);
	dup2(sockets[0], 0);
	close_range(1, ~0u, 0);
	listener = receive_descriptor(0);
	close(0);
	if (listener >= 0)
		answer(listener);
	_exit(0);
}

static int install_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &program);
}

void counter_broker_begin(void)
{
	int sockets[2], listener;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		abort();
	start_answering(sockets);
	listener = install_filter();
	if (listener < 0 || !send_descriptor(sockets[1], listener)) {
		perror("seccomp");
		_exit(97);
	}
	close(listener);
	close(sockets[0]);
	close(sockets[1]);
}

const char *counter_broker_obstacle(enum counter_kind kind)
{
	int status, fd = kind == COUNTER_OF_TIME ? open_time(0) : 0;
	pid_t pid;

	if (fd < 0)
		return "perf_event_open gives no counter of CPU time here, see perf_event_paranoid";
	if (fd)
		close(fd);
	pid = fork();
	if (pid == 0)
		_exit(install_filter() < 0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return "seccomp(2) tells nobody of system calls here (SECCOMP_FILTER_FLAG_NEW_LISTENER)";
	return NULL;
}
