// SPDX-License-Identifier: GPL-2.0
// The limit of address space (RLIMIT_AS), as the program knows it.
//
// The session takes far more address space than programs do, though next to no memory. A program that
// limits itself once it runs (`ulimit -v` in a shell's script, say) would have nothing left at once. So
// what it asks for is set with our share on top, and what it asks about is told without. A limit that was
// there before the program is left alone: by that the session was made small.

#include "limits.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "model/tally.h"
#include "session.h"
#include "start.h"
#include "thread.h"

#define EXPORT __attribute__((visibility("default")))

/* What the C library calls between this and the system call that executes a program, it has room for. */
#define STACK_BYTES 8192

/* Of this process, or of a child that shares its memory; whose it is, the limit itself says. */
static struct {
	struct rlimit told, set; /* what the program asked for last, and what that became */
} own;

/* What of the address space is ours. A process that is not profiled has none. */
static rlim_t share(void)
{
	rlim_t bytes = 0;

	for (int i = 0; i < MF_REGION_COUNT; i++)
		bytes += mf_session_store.sizes[i];
	return bytes ? bytes + MF_SHARDS_MAX * sizeof(struct mf_thread) : 0;
}

static rlim_t least(rlim_t one, rlim_t other)
{
	return one < other ? one : other;
}

/* RLIM_INFINITY is the largest number. */
static rlim_t with_share(rlim_t limit)
{
	rlim_t more = share();

	return limit < RLIM_INFINITY - more ? limit + more : RLIM_INFINITY;
}

static struct rlimit without_share(const struct rlimit *limits)
{
	return (struct rlimit){
		.rlim_cur = limits->rlim_cur == own.set.rlim_cur ? own.told.rlim_cur : limits->rlim_cur,
		.rlim_max = limits->rlim_max == own.set.rlim_max ? own.told.rlim_max : limits->rlim_max,
	};
}

/* What to set for @asked where @now is set. What is refused without us is refused. */
static struct rlimit widen(const struct rlimit *asked, const struct rlimit *now)
{
	struct rlimit limits = {
		.rlim_cur = with_share(asked->rlim_cur), .rlim_max = with_share(asked->rlim_max),
	};

	if (asked->rlim_cur > asked->rlim_max)
		return *asked;
	if (asked->rlim_max <= without_share(now).rlim_max)
		limits.rlim_max = least(limits.rlim_max, now->rlim_max);
	limits.rlim_cur = least(limits.rlim_cur, limits.rlim_max);
	return limits;
}

static int change(const struct rlimit *asked, struct rlimit *before)
{
	const struct mf_real *real = mf_start();
	struct rlimit now, limits;
	int ret = real->getrlimit(RLIMIT_AS, &now);

	if (!ret && before)
		*before = without_share(&now);
	if (ret || !asked)
		return ret;
	limits = widen(asked, &now);
	ret = real->setrlimit(RLIMIT_AS, &limits);
	if (!ret) {
		own.told = *asked;
		own.set = limits;
	}
	return ret;
}

void mf_limits_executing(bool begins)
{
	volatile char room[STACK_BYTES];
	struct rlimit limits;

	if (!own.set.rlim_cur || syscall(SYS_getrlimit, RLIMIT_AS, &limits))
		return;
	/* The hard limit could not be taken back, if that fails. */
	if (begins && limits.rlim_cur == own.set.rlim_cur) {
		/* No stack can grow from then on. */
		for (size_t i = 0; i < sizeof(room); i += 4096)
			room[i] = 0;
		limits.rlim_cur = own.told.rlim_cur;
	} else if (!begins && limits.rlim_cur == own.told.rlim_cur) {
		limits.rlim_cur = own.set.rlim_cur;
	} else {
		return;
	}
	syscall(SYS_setrlimit, RLIMIT_AS, &limits);
}

EXPORT int getrlimit(__rlimit_resource_t resource, struct rlimit *limits)
{
	return resource == RLIMIT_AS ? change(NULL, limits) :
				       mf_start()->getrlimit(resource, limits);
}

EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit *limits)
{
	return resource == RLIMIT_AS ? change(limits, NULL) :
				       mf_start()->setrlimit(resource, limits);
}

EXPORT int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *limits,
		   struct rlimit *before)
{
	return resource == RLIMIT_AS && (!pid || pid == getpid()) ?
		       change(limits, before) :
		       mf_start()->prlimit(pid, resource, limits, before);
}

/* The same, as there are no smaller ones. */
_Static_assert(sizeof(rlim_t) == sizeof(rlim64_t), "one structure");

EXPORT int getrlimit64(__rlimit_resource_t resource, struct rlimit64 *limits)
{
	return getrlimit(resource, (struct rlimit *)limits);
}

EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limits)
{
	return setrlimit(resource, (const struct rlimit *)limits);
}

EXPORT int prlimit64(pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *limits,
		     struct rlimit64 *before)
{
	return prlimit(pid, resource, (const struct rlimit *)limits, (struct rlimit *)before);
}
