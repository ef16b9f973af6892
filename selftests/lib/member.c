// SPDX-License-Identifier: GPL-2.0
// A process that keeps changing its memory while it is a member of a session; its records are compared with /proc.
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftests/lib/member.h"
#include "selftests/lib/member_life.h"
#include "selftests/lib/patience.h"

#define STACK		256
#define TRIES		200
#define TRY_US		(20 * 1000)

__attribute__((format(printf, 2, 3)))
static void wrong(struct member *member, const char *format, ...)
{
	va_list args;

	if (member->wrong[0])
		return;
	va_start(args, format);
	vsnprintf(member->wrong, sizeof(member->wrong), format, args);
	va_end(args);
}

static void drain(struct member *member)
{
	const struct massif_record *rec;

	while ((rec = kmod_session_next(&member->session)))
		kmod_model_apply(rec, &member->model);
	kmod_session_release(&member->session);
}

static void *read_records(void *arg)
{
	struct member *member = arg;

	/* Raise the priority of only this thread, so that it reads records as fast as they are written. */
	setpriority(PRIO_PROCESS, 0, -15);
	while (!__atomic_load_n(&member->stop, __ATOMIC_ACQUIRE)) {
		struct pollfd pfd = { .fd = member->session.fd, .events = POLLIN };

		poll(&pfd, 1, 20);
		drain(member);
		/*
		 * POLLHUP means that the session has no processes left. From then on, every poll() returns immediately,
		 * so sleep instead.
		 */
		if (pfd.revents & POLLHUP)
			usleep(1000);
	}
	return NULL;
}

static int start_reading(struct member *member)
{
	int err;

	member->stop = false;
	err = pthread_create(&member->reader, NULL, read_records, member);
	member->reading = !err;
	return -err;
}

static void stop_reading(struct member *member)
{
	if (!member->reading)
		return;
	__atomic_store_n(&member->stop, true, __ATOMIC_RELEASE);
	pthread_join(member->reader, NULL);
	member->reading = false;
}

static bool alive(struct member *member)
{
	int status;

	if (!member->pid)
		return false;
	if (waitpid(member->pid, &status, WNOHANG) != member->pid)
		return true;
	wrong(member, "the member has ended: status %#x", status);
	member->pid = 0;
	return false;
}

int member_start(struct member *member, bool faults)
{
	struct member_shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int waited;
	int err;

	memset(member, 0, sizeof(*member));
	member->session.fd = -1;
	if (shared == MAP_FAILED)
		return -errno;
	member->shared = shared;
	shared->faults = faults;
	kmod_model_init(&member->model);
	err = kmod_session_open_as(&member->session, &(struct massif_setup){
		.ring_bytes = MASSIF_RING_MAX,
		.max_stack_bytes = STACK,
		.flags = MASSIF_SETUP_RESIDENT,
	});
	if (err)
		return err;
	member->pid = kmod_session_call(&member->session, member_life, shared);
	if (member->pid < 0) {
		err = member->pid;
		member->pid = 0;
		return err;
	}
	err = start_reading(member);
	for (waited = 0; !err && !__atomic_load_n(&shared->workers, __ATOMIC_ACQUIRE); waited++) {
		if (!alive(member))
			return -ECHILD;
		if (waited > 10 * 1000 * patience())
			return -ETIMEDOUT;
		usleep(1000);
	}
	return err;
}

/* Resident pages according to /proc/PID/smaps. */
struct resident {
	int64_t anon, other, swap;
};

static bool read_resident(pid_t pid, struct resident *resident)
{
	char path[64], line[8192], kind = 'p';
	int64_t kb;
	FILE *file;

	*resident = (struct resident){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/smaps", pid);
	file = fopen(path, "r");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*x-%*x %*c%*c%*c%c", &kind) == 1)
			continue;
		if (sscanf(line, "Rss: %" SCNd64, &kb) == 1)
			resident->other += kb / 4;
		else if (sscanf(line, "Anonymous: %" SCNd64, &kb) == 1)
			resident->anon += kb / 4;
		/* The kernel's count of the process's swapped pages excludes swapped pages of shared files. */
		else if (sscanf(line, "Swap: %" SCNd64, &kb) == 1 && kind == 'p')
			resident->swap += kb / 4;
	}
	fclose(file);
	resident->other -= resident->anon;
	return true;
}

/* Compares the model with /proc and describes any differences in @text. Returns false if there are any. */
static bool compare(struct member *member, char *text, size_t size)
{
	struct kmod_target *target = kmod_model_find(&member->model, (uint32_t)member->pid, 0);
	struct resident now, told;
	struct kmod_intervals maps;
	char path[64];
	bool same;

	snprintf(path, sizeof(path), "/proc/%d/maps", member->pid);
	if (!target || kmod_intervals_read(&maps, path) || !read_resident(member->pid, &now)) {
		snprintf(text, size, "no target, or no %s", path);
		return false;
	}
	told = (struct resident){
		.anon = target->resident[MASSIF_RSS_ANON],
		.other = target->resident[MASSIF_RSS_FILE] + target->resident[MASSIF_RSS_SHMEM],
		.swap = target->resident[MASSIF_RSS_SWAP],
	};
	same = target->synced && kmod_intervals_equal(&maps, &target->map) &&
	       !memcmp(&now, &told, sizeof(now));
	snprintf(text, size, "%zu mappings, %" PRIu64 " pages, resident anon %" PRId64 " other %" PRId64 " swap %"
		 PRId64 "; records: %s, %zu, %" PRIu64 ", %" PRId64 ", %" PRId64 ", %" PRId64,
		 maps.count, maps.pages, now.anon, now.other, now.swap, target->synced ? "in sync" : "out of sync",
		 target->map.count, target->map.pages, told.anon, told.other, told.swap);
	kmod_intervals_destroy(&maps);
	return same;
}

/*
 * Retries until the model agrees with /proc. They may differ at first, because a paused thread may still be on its way
 * out of a system call and kernel threads may be in the middle of an operation.
 */
static bool becomes_equal(struct member *member, const char *when)
{
	char text[384] = "";
	unsigned int i;

	for (i = 0; i < TRIES * patience(); i++) {
		struct massif_status status;
		uint32_t remaining;

		drain(member);
		/*
		 * The module reports lost records together with the next record. A paused process causes no records, so
		 * request a resync.
		 */
		if (!kmod_session_status(&member->session, &status) && status.out_of_sync)
			kmod_session_resync(&member->session, &remaining);
		drain(member);
		if (compare(member, text, sizeof(text)))
			return true;
		usleep(TRY_US);
	}
	wrong(member, "%s: %s", when, text);
	return false;
}

bool member_rest(struct member *member, void (*serve)(struct member *member))
{
	struct massif_resync all = { .size = sizeof(all), .flags = MASSIF_RESYNC_ALL };
	unsigned int i;

	__atomic_store_n(&member->shared->phase, MEMBER_RESTS, __ATOMIC_RELEASE);
	for (i = 0; __atomic_load_n(&member->shared->resting, __ATOMIC_ACQUIRE) < member->shared->workers; i++) {
		if (!alive(member))
			return false;
		if (i > 30 * 1000 * patience()) {
			wrong(member, "its threads do not come to rest");
			return false;
		}
		if (serve)
			serve(member);
		usleep(1000);
	}
	stop_reading(member);
	if (!becomes_equal(member, "at rest"))
		return false;
	if (ioctl(member->session.fd, MASSIF_IOC_RESYNC, &all))
		wrong(member, "no resync: %s", strerror(errno));
	return becomes_equal(member, "after a resync") && !member->wrong[0];
}

void member_resume(struct member *member)
{
	__atomic_store_n(&member->shared->phase, MEMBER_BUSY, __ATOMIC_RELEASE);
	if (start_reading(member))
		wrong(member, "no thread to read");
}

static int apply(const struct massif_record *rec, void *arg)
{
	return kmod_model_apply(rec, arg);
}

static void expect_ends(struct member *member)
{
	struct massif_status status;
	size_t i;

	for (i = 0; i < member->model.count; i++)
		if (!member->model.targets[i].exited)
			wrong(member, "target %u was not told to have ended", member->model.targets[i].id);
	if (kmod_session_status(&member->session, &status))
		wrong(member, "no status");
	else if (status.targets || status.processes || status.pending)
		wrong(member, "left: %u targets, %u processes, %u visits", status.targets, status.processes,
		      status.pending);
}

bool member_end(struct member *member)
{
	int status = -1, err;

	stop_reading(member);
	__atomic_store_n(&member->shared->phase, MEMBER_ENDS, __ATOMIC_RELEASE);
	err = kmod_session_drain(&member->session, 30 * 1000, apply, &member->model);
	if (err)
		wrong(member, "no end: %s", strerror(-err));
	if (member->pid && (waitpid(member->pid, &status, 0) != member->pid || status))
		wrong(member, "the member's status is %#x", status);
	member->pid = 0;
	expect_ends(member);
	if (member->model.wrong)
		wrong(member, "%" PRIu64 " wrong, first: %s", member->model.wrong, member->model.first_wrong);
	return !member->wrong[0];
}

void member_destroy(struct member *member)
{
	stop_reading(member);
	if (member->pid > 0) {
		kill(member->pid, SIGKILL);
		waitpid(member->pid, NULL, 0);
	}
	if (member->session.fd >= 0)
		kmod_session_close(&member->session);
	kmod_model_destroy(&member->model);
	if (member->shared)
		munmap(member->shared, sizeof(*member->shared));
	memset(member, 0, sizeof(*member));
	member->session.fd = -1;
}
