// SPDX-License-Identifier: GPL-2.0
// A small consumer of /dev/massif for tests. It shares no code with massif-ctl.
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "selftests/lib/kmod_session.h"

#define USER 1000

static void *map(int fd, size_t bytes, int prot, long page_index)
{
	return mmap(NULL, bytes, prot, MAP_SHARED, fd, page_index * getpagesize());
}

int kmod_session_map(struct kmod_session *session, uint64_t ring_bytes)
{
	size_t page = getpagesize();

	session->bytes = ring_bytes;
	session->control = map(session->fd, page, PROT_READ, MASSIF_MMAP_CONTROL);
	session->consumer = map(session->fd, page, PROT_READ | PROT_WRITE, MASSIF_MMAP_CONSUMER);
	session->data = map(session->fd, ring_bytes, PROT_READ, MASSIF_MMAP_DATA);
	if (session->control == MAP_FAILED || session->consumer == MAP_FAILED ||
	    session->data == MAP_FAILED)
		return -errno;
	return 0;
}

int kmod_session_open_as(struct kmod_session *session, struct massif_setup *setup)
{
	int err;

	setup->size = sizeof(*setup);
	setup->abi = MASSIF_ABI;
	memset(session, 0, sizeof(*session));
	session->fd = open(MASSIF_DEVICE, O_RDWR | O_CLOEXEC);
	if (session->fd < 0)
		return -errno;
	err = ioctl(session->fd, MASSIF_IOC_SETUP, setup) ? -errno : 0;
	if (!err)
		err = kmod_session_map(session, setup->ring_bytes);
	if (err)
		kmod_session_close(session);
	return err;
}

int kmod_session_open(struct kmod_session *session, uint64_t ring_bytes, uint32_t max_stack)
{
	struct massif_setup setup = { .ring_bytes = ring_bytes, .max_stack_bytes = max_stack };

	return kmod_session_open_as(session, &setup);
}

int kmod_session_allow(void)
{
	const struct rlimit limit = { 8 << 20, 8 << 20 };

	return setrlimit(RLIMIT_MEMLOCK, &limit) ? -errno : 0;
}

/* Creates a second node of the device with mode 0666, visible in a new mount namespace only. */
static int let_everybody_open(void)
{
	char node[PATH_MAX];
	struct stat st;

	snprintf(node, sizeof(node), "%s/massif.%d", getenv("TMPDIR") ?: "/tmp", (int)getpid());
	if (stat(MASSIF_DEVICE, &st) || unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) || mknod(node, S_IFCHR, st.st_rdev) ||
	    chmod(node, 0666) || mount(node, MASSIF_DEVICE, NULL, MS_BIND, NULL) || unlink(node))
		return -errno;
	return 0;
}

int kmod_session_be_user(void)
{
	int err = let_everybody_open() ?: kmod_session_allow();

	if (err)
		return err;
	if (setgroups(0, NULL) || setresgid(USER, USER, USER) || setresuid(USER, USER, USER) ||
	    prctl(PR_SET_DUMPABLE, 1))
		return -errno;
	return 0;
}

void kmod_session_close(struct kmod_session *session)
{
	size_t page = getpagesize();

	if (session->control)
		munmap(session->control, page);
	if (session->consumer)
		munmap(session->consumer, page);
	if (session->data)
		munmap(session->data, session->bytes);
	close(session->fd);
	session->fd = -1;
}

int kmod_session_status(struct kmod_session *session, struct massif_status *status)
{
	*status = (struct massif_status){ .size = sizeof(*status) };
	return ioctl(session->fd, MASSIF_IOC_STATUS, status) ? -errno : 0;
}

int kmod_session_tell(struct kmod_session *session, const void *stacks, uint32_t bytes)
{
	struct massif_stack_cache known = {
		.size = sizeof(known),
		.stacks = (uintptr_t)stacks,
		.bytes = bytes,
	};

	return ioctl(session->fd, MASSIF_IOC_KNOWN, &known) ? -errno : (int)known.taken;
}

int kmod_session_resync(struct kmod_session *session, uint32_t *remaining)
{
	struct massif_resync resync = { .size = sizeof(resync) };

	if (ioctl(session->fd, MASSIF_IOC_RESYNC, &resync))
		return -errno;
	*remaining = resync.remaining;
	return 0;
}

int kmod_session_attach(int fd, pid_t pid)
{
	struct massif_attach attach = { .size = sizeof(attach), .pid = pid };

	return ioctl(fd, MASSIF_IOC_ATTACH, &attach) ? -errno : 0;
}

int kmod_session_enrol(int fd)
{
	struct massif_enrol enrol = { .size = sizeof(enrol) };

	return ioctl(fd, MASSIF_IOC_ENROL, &enrol) ? -errno : 0;
}

static void enrol_or_exit(struct kmod_session *session)
{
	if (kmod_session_enrol(session->fd))
		_exit(126);
}

pid_t kmod_session_spawn(struct kmod_session *session, char *const argv[])
{
	pid_t pid = fork();

	if (pid)
		return pid < 0 ? -errno : pid;
	enrol_or_exit(session);
	execv(argv[0], argv);
	_exit(127);
}

pid_t kmod_session_call(struct kmod_session *session, int (*run)(void *arg), void *arg)
{
	pid_t pid = fork();

	if (pid)
		return pid < 0 ? -errno : pid;
	enrol_or_exit(session);
	close(session->fd);
	_exit(run(arg));
}

const struct massif_record *kmod_session_next(struct kmod_session *session)
{
	uint64_t head = __atomic_load_n(&session->control->head, __ATOMIC_ACQUIRE);

	while (session->tail != head) {
		const struct massif_record *rec =
			(const void *)(session->data + session->tail % session->bytes);

		session->tail += rec->size;
		if (rec->type != MASSIF_REC_PAD)
			return rec;
	}
	return NULL;
}

void kmod_session_release(struct kmod_session *session)
{
	__atomic_store_n(&session->consumer->tail, session->tail, __ATOMIC_RELEASE);
}

/* Returns the factor for timeouts on slow kernels. */
static long patience(void)
{
	const char *factor = getenv("MASSIF_PATIENCE");

	return factor ? atol(factor) : 1;
}

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void kmod_session_read(struct kmod_session *session, int (*each)(const struct massif_record *rec, void *arg),
		       void *arg)
{
	const struct massif_record *rec;

	while ((rec = kmod_session_next(session)))
		each(rec, arg);
	kmod_session_release(session);
}

/*
 * If records are written faster than the test reads them, the loop over the available records may never end. So release
 * the ring's space to the module after reading this many bytes.
 */
#define RELEASE_BYTES	(1 << 20)

int kmod_session_drain(struct kmod_session *session, int timeout_ms,
		       int (*each)(const struct massif_record *rec, void *arg), void *arg)
{
	long end = now_ms() + timeout_ms * patience();
	uint64_t released = session->tail;

	while (now_ms() < end) {
		struct pollfd pfd = { .fd = session->fd, .events = POLLIN };
		const struct massif_record *rec;
		int err;

		if (poll(&pfd, 1, 50) < 0 && errno != EINTR)
			return -errno;
		while ((rec = kmod_session_next(session))) {
			err = each(rec, arg);
			if (err)
				return err;
			if (session->tail - released < RELEASE_BYTES)
				continue;
			kmod_session_release(session);
			released = session->tail;
		}
		kmod_session_release(session);
		released = session->tail;
		/* POLLHUP was set before the last records were read, so no more can follow. */
		if (pfd.revents & POLLHUP)
			return 0;
	}
	return -ETIMEDOUT;
}
