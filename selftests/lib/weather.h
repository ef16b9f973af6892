/* SPDX-License-Identifier: GPL-2.0 */
/* What happens around a member of a session, in the kernel that both are in, or to it: in a guest, by root. */
#ifndef SELFTESTS_LIB_WEATHER_H
#define SELFTESTS_LIB_WEATHER_H

#include <stdbool.h>

#include "selftests/lib/member.h"

struct weather {
	bool faults;	/* the member has a thread that waits for pages */
	unsigned int rounds;	/* so many at least, to have done it in every way */
	/* NULL, or why this kernel does not have it. The member is busy. */
	const char *(*begin)(struct member *member);
	/* Once more, in a tenth of a second or so. */
	void (*blow)(struct member *member, unsigned int round);
	/* For threads that wait, while they are to come to rest; or NULL. */
	void (*serve)(struct member *member);
	/* How often, since it began, it did to the kernel or the member what it is for. */
	long (*effects)(void);
	/* All is as it was. False: it could not be brought back. */
	bool (*end)(struct member *member);
};

/* weather_machine.c */
extern const struct weather weather_processors;	/* go and come back */
extern const struct weather weather_freezer;	/* the member stands still, and goes on */
extern const struct weather weather_killer;	/* other members are ended for want of memory */
extern const struct weather weather_sessions;	/* others come and go */

/* weather_memory.c */
extern const struct weather weather_swap;	/* the member has not enough memory */
extern const struct weather weather_merging;	/* equal pages become one, and several again */
extern const struct weather weather_collapse;	/* small pages become huge ones */
extern const struct weather weather_compaction;	/* pages move */
extern const struct weather weather_nodes;	/* pages move between NUMA nodes */
extern const struct weather weather_userfault;	/* another process brings pages */

/* weather_tracers.c: others hook what is hooked */
extern const struct weather weather_kprobes;
extern const struct weather weather_ftrace;
extern const struct weather weather_bpf;

/* The control group of that name, with a limit on memory if bytes is not 0. False: this kernel has none. */
bool weather_group_make(const char *name, unsigned long bytes);
/* Who is in it goes back. */
void weather_group_remove(const char *name);
/* One of its files. */
bool weather_group_put(const char *name, const char *file, const char *text);
bool weather_group_enter(const char *name, pid_t pid);
long weather_group_number(const char *name, const char *file, const char *field);

/* A file of /sys or /proc. */
bool weather_put(const char *path, const char *text);
/* The number behind a word in it (NULL: the first there is); -1. */
long weather_number(const char *path, const char *field);

#endif
