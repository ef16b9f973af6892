// SPDX-License-Identifier: GPL-2.0
// Hides the shim's share of address space and data from the program's limits (RLIMIT_AS, RLIMIT_DATA).
//
// The session takes far more address space than most programs, though hardly any memory, and the shim's image counts as
// data. If the limits were not adjusted, the program could map less memory than without massif, or none at all. So the
// shim's share is added to each limit that the program sets, and subtracted when the program reads the limit.
//
// A limit that was set before the program started is raised in the same way, as far as the hard limit or the process's
// privileges allow. If it cannot be raised enough, a smaller session is used (userland/ctl/heap/process.c).

#include "limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "follow.h"
#include "core/gate.h"
#include "core/own_memory.h"
#include "core/process_id.h"
#include "core/readable.h"
#include "core/seccomp.h"
#include "core/session.h"
#include "core/start.h"

#define EXPORT __attribute__((visibility("default")))

#define PAGE_BYTES 4096u

/* Upper bound on the stack, in bytes, that the C library's exec functions use before they make the system call. */
#define STACK_BYTES 8192

/*
 * A limit on address space (RLIMIT_AS), in bytes, that allows a full-size session. massif-ctl makes the session at most
 * a quarter as large as the limit.
 */
#define ANY_SESSION (1ull << 40)

/* A limit that the shim has set. If it has not set any, both are zero. */
struct setting {
	struct rlimit shown, set; /* the limit as the program sees it, and the actual limit */
};

/*
 * A child of vfork() shares this table, but has its own limits. They are those of its parent until it sets others. If two
 * threads have such children at a time, one child may see massif's share. A setting applies to a process only if the
 * process's current limit equals @set.
 */
static struct limit {
	enum __rlimit_resource resource;
	uint64_t (*share)(void);
	struct setting own, guests;
	pid_t guest; /* the child that @guests is for */
} limits[] = {
	{ RLIMIT_AS, mf_own_memory_address_space },
	{ RLIMIT_DATA, mf_own_memory_data },
};

#define N_LIMITS (sizeof(limits) / sizeof(*limits))

static struct limit *find(int resource)
{
	for (size_t i = 0; i < N_LIMITS; i++)
		if ((int)limits[i].resource == resource)
			return &limits[i];
	return NULL;
}

/* Returns the setting of the current process. */
static struct setting *current(struct limit *limit)
{
	if (!mf_process_id_is_guest())
		return &limit->own;
	if (limit->guest != mf_process_id()) {
		limit->guest = mf_process_id();
		limit->guests = limit->own;
	}
	return &limit->guests;
}

static rlim_t least(rlim_t one, rlim_t other)
{
	return one < other ? one : other;
}

/*
 * Returns @limit + @more, but at most RLIM_INFINITY. RLIM_INFINITY is the largest value, so it needs no special case.
 */
static rlim_t add(rlim_t limit, rlim_t more)
{
	return limit < RLIM_INFINITY - more ? limit + more : RLIM_INFINITY;
}

static struct rlimit add_both(const struct rlimit *limit, rlim_t more)
{
	return (struct rlimit){ add(limit->rlim_cur, more), add(limit->rlim_max, more) };
}

/* Uses the same system call as the C library's functions, because a sandbox may allow only that one. */
static int set_bare(const struct limit *limit, const struct rlimit *value)
{
	return (int)syscall(SYS_prlimit64, 0, limit->resource, value, NULL);
}

static int get_bare(const struct limit *limit, struct rlimit *value)
{
	return (int)syscall(SYS_prlimit64, 0, limit->resource, NULL, value);
}

static bool is_set(struct limit *limit)
{
	return current(limit)->set.rlim_max;
}

static void raise_limit(struct limit *limit)
{
	rlim_t more = limit->share() + (limit->resource == RLIMIT_AS ? ANY_SESSION : 0);
	struct rlimit now, wanted;
	bool is_privileged;

	if (get_bare(limit, &now) || !now.rlim_max ||
	    (now.rlim_cur == RLIM_INFINITY && now.rlim_max == RLIM_INFINITY))
		return;
	limit->own.shown = now;
	wanted = add_both(&now, more);
	is_privileged = wanted.rlim_max > now.rlim_max && !set_bare(limit, &wanted);
	if (!is_privileged) {
		wanted.rlim_max = now.rlim_max;
		wanted.rlim_cur = least(wanted.rlim_cur, now.rlim_max);
		if (set_bare(limit, &wanted))
			wanted = now;
	}
	limit->own.set = wanted;
}

void mf_limits_raise(void)
{
	int saved = errno;

	for (size_t i = 0; i < N_LIMITS; i++)
		raise_limit(&limits[i]);
	errno = saved;
}

static void settle(struct limit *limit)
{
	struct rlimit wanted = add_both(&limit->own.shown, limit->share());

	wanted.rlim_max = least(wanted.rlim_max, limit->own.set.rlim_max);
	wanted.rlim_cur = least(wanted.rlim_cur, wanted.rlim_max);
	if (!set_bare(limit, &wanted))
		limit->own.set = wanted;
}

void mf_limits_settle(void)
{
	int saved = errno;

	for (size_t i = 0; i < N_LIMITS; i++)
		if (limits[i].own.set.rlim_max)
			settle(&limits[i]);
	errno = saved;
}

static struct rlimit without_share(const struct setting *setting, const struct rlimit *value)
{
	return (struct rlimit){
		.rlim_cur = value->rlim_cur == setting->set.rlim_cur ? setting->shown.rlim_cur : value->rlim_cur,
		.rlim_max = value->rlim_max == setting->set.rlim_max ? setting->shown.rlim_max : value->rlim_max,
	};
}

/*
 * Computes the limit to set if the program requests @asked. @now: the current limit. A request that the kernel would
 * refuse without massif is still refused.
 */
static struct rlimit widen(struct limit *limit, const struct rlimit *asked, const struct rlimit *now)
{
	struct rlimit wide = add_both(asked, limit->share());

	if (asked->rlim_cur > asked->rlim_max)
		return *asked;
	if (asked->rlim_max <= without_share(current(limit), now).rlim_max)
		wide.rlim_max = least(wide.rlim_max, now->rlim_max);
	wide.rlim_cur = least(wide.rlim_cur, wide.rlim_max);
	return wide;
}

/*
 * Returns whether @asked can be read. If not, sets errno to EFAULT, as the kernel does. Has the kernel read @asked, by
 * requesting a limit of a resource that does not exist: the kernel reads the limit before it refuses the resource.
 */
static bool is_readable(const struct rlimit *asked)
{
	int saved = errno;

	if (mf_start()->prlimit(0, __RLIMIT_NLIMITS, asked, NULL) && errno == EFAULT)
		return false;
	errno = saved;
	return true;
}

/* @asked and @before may be the same. Like the kernel, writes @before last, and fails if that is not possible. */
static int change(struct limit *limit, const struct rlimit *asked, struct rlimit *before)
{
	const struct mf_real *real = mf_start();
	struct rlimit now, shown, wide, wanted;
	int ret;

	if (asked && !is_readable(asked))
		return -1;
	ret = real->getrlimit(limit->resource, &now);
	if (ret)
		return ret;
	shown = without_share(current(limit), &now);
	if (asked) {
		wanted = *asked;
		wide = widen(limit, &wanted, &now);
		ret = real->setrlimit(limit->resource, &wide);
		if (ret)
			return ret;
		*current(limit) = (struct setting){ .shown = wanted, .set = wide };
	}
	if (before) {
		ret = real->getrlimit(limit->resource, before);
		if (!ret)
			*before = shown;
	}
	return ret;
}

/*
 * Returns whether the process may raise its hard limit @now. Raises it by one byte, since a process with the user ID 0 may
 * lack the capability, or have it only in its own user namespace.
 */
static bool may_raise(const struct limit *limit, struct rlimit now)
{
	return now.rlim_max++ != RLIM_INFINITY && !set_bare(limit, &now);
}

/* Lowers the hard limit only if the process could raise it again, in case the exec fails. */
static void begin(const struct limit *limit, const struct setting *setting, struct rlimit now)
{
	bool is_hard = setting->set.rlim_max > setting->shown.rlim_max && now.rlim_max == setting->set.rlim_max;

	if (now.rlim_cur != setting->set.rlim_cur)
		return;
	if (is_hard && may_raise(limit, now))
		now.rlim_max = setting->shown.rlim_max;
	now.rlim_cur = setting->shown.rlim_cur;
	set_bare(limit, &now);
}

static void go_on(const struct limit *limit, const struct setting *setting, struct rlimit now)
{
	if (now.rlim_cur != setting->shown.rlim_cur)
		return;
	now.rlim_cur = setting->set.rlim_cur;
	if (now.rlim_max == setting->shown.rlim_max)
		now.rlim_max = setting->set.rlim_max;
	set_bare(limit, &now);
}

/*
 * Lets the initial stack grow in advance. Once the address space that the shim uses is subtracted from RLIMIT_AS, the
 * stack may be unable to grow. Does no harm on another stack, which ends nearer: the kernel tries to read the pages.
 */
static void grow_stack(void)
{
	uint64_t here = (uintptr_t)__builtin_frame_address(0);

	for (uint64_t bytes = PAGE_BYTES; bytes <= STACK_BYTES; bytes += PAGE_BYTES)
		mf_readable_word(here - bytes);
}

/*
 * Returns whether the process has only one thread. A child of vfork() is a process of its own. The directory has a link for
 * each thread.
 */
static bool has_one_thread(void)
{
	struct stat tasks;

	if (syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &tasks, 0))
		return *mf_gate_alone;
	return tasks.st_nlink == 2 + 1;
}

static bool is_any_set(void)
{
	for (size_t i = 0; i < N_LIMITS; i++)
		if (is_set(&limits[i]))
			return true;
	return false;
}

void mf_limits_executing(bool begins)
{
	/* A sandbox may allow none of these system calls. The program that is executed then has the raised limits. */
	if (mf_seccomp_is_on() || !is_any_set() || (begins && !has_one_thread()))
		return;
	if (begins)
		grow_stack();
	for (size_t i = 0; i < N_LIMITS; i++) {
		struct rlimit now;

		if (is_set(&limits[i]) && !get_bare(&limits[i], &now))
			(begins ? begin : go_on)(&limits[i], current(&limits[i]), now);
	}
}

void mf_limits_spawned(pid_t pid)
{
	int saved = errno;

	if (mf_follow_is_on() || mf_seccomp_is_on())
		return;
	for (size_t i = 0; i < N_LIMITS; i++)
		if (is_set(&limits[i]))
			syscall(SYS_prlimit64, pid, limits[i].resource, &current(&limits[i])->shown, NULL);
	errno = saved;
}

EXPORT int getrlimit(__rlimit_resource_t resource, struct rlimit *value)
{
	struct limit *limit = find((int)resource);

	return limit ? change(limit, NULL, value) : mf_start()->getrlimit(resource, value);
}

EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit *value)
{
	struct limit *limit = find((int)resource);

	return limit ? change(limit, value, NULL) : mf_start()->setrlimit(resource, value);
}

EXPORT int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *value,
		   struct rlimit *before)
{
	struct limit *limit = find((int)resource);

	if (pid && limit && pid != mf_process_id())
		limit = NULL;
	return limit ? change(limit, value, before) :
		       mf_start()->prlimit(pid, resource, value, before);
}

/* struct rlimit and struct rlimit64 are identical on 64-bit systems. */
_Static_assert(sizeof(rlim_t) == sizeof(rlim64_t), "one structure");

EXPORT int getrlimit64(__rlimit_resource_t resource, struct rlimit64 *value)
{
	return getrlimit(resource, (struct rlimit *)value);
}

EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *value)
{
	return setrlimit(resource, (const struct rlimit *)value);
}

EXPORT int prlimit64(pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *value,
		     struct rlimit64 *before)
{
	return prlimit(pid, resource, (const struct rlimit *)value, (struct rlimit *)before);
}
