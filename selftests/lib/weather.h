/* SPDX-License-Identifier: GPL-2.0 */
/* Disturbs the member of a session, through the kernel or through other processes. Needs root, in a guest. */
#ifndef MASSIF_SELFTESTS_WEATHER_H
#define MASSIF_SELFTESTS_WEATHER_H

#include <stdbool.h>

#include "selftests/lib/member.h"

struct weather {
	/* true if the disturbance needs a thread in the profiled process that waits for pages from a userfaultfd */
	bool faults;
	/*
	 * number of calls to @blow, the callback below, that are needed to go through every variant of this disturbance
	 */
	unsigned int rounds;
	/*
	 * Prepares the machine to disturb @member, a profiled process that is busy changing its memory. Returns NULL on
	 * success, or the name of something that the disturbance needs and this machine does not have.
	 */
	const char *(*begin)(struct member *member);
	/* Causes one disturbance; takes about a tenth of a second. */
	void (*blow)(struct member *member, unsigned int round);
	/*
	 * Called repeatedly until all threads of the profiled process are paused, so that threads that are waiting for
	 * something can continue. May be NULL.
	 */
	void (*serve)(struct member *member);
	/*
	 * Returns how many times this disturbance has had its intended effect on the profiled process since it began.
	 */
	long (*effects)(void);
	/* Restores the machine's original state. Returns false if that fails. */
	bool (*end)(struct member *member);
};

/* Defined in weather_machine.c: */
extern const struct weather weather_processors;	/* processors go offline and online */
extern const struct weather weather_freezer;	/* the profiled process is frozen and thawed */
extern const struct weather weather_killer;	/* other profiled processes are killed by the OOM killer */
extern const struct weather weather_sessions;	/* other sessions begin and end */

/* Defined in weather_memory.c: */
extern const struct weather weather_swap;	/* the profiled process has too little memory, so its pages are swapped */
extern const struct weather weather_merging;	/* pages with equal contents are merged (KSM) and separated again */
extern const struct weather weather_collapse;	/* small pages are collapsed into huge ones */
extern const struct weather weather_compaction;	/* pages are moved by compaction */
extern const struct weather weather_nodes;	/* pages are moved between NUMA nodes */
extern const struct weather weather_userfault;	/* another process provides pages through userfaultfd */

/* Other tracers are attached to the kernel functions that massif.ko hooks; defined in weather_tracers.c. */
extern const struct weather weather_kprobes;
extern const struct weather weather_ftrace;
extern const struct weather weather_bpf;

/*
 * Creates the control group @name, with a memory limit of @bytes; 0: no limit. Returns false if the kernel does not
 * support this.
 */
bool weather_group_make(const char *name, unsigned long bytes);
/* Moves all processes of the control group @name to its parent group, and removes the group. */
void weather_group_remove(const char *name);
/* Writes @text to the file @file of the control group @name, for example to memory.high. */
bool weather_group_put(const char *name, const char *file, const char *text);
bool weather_group_enter(const char *name, pid_t pid);
long weather_group_number(const char *name, const char *file, const char *field);

/* Writes @text to a file in /sys or /proc. */
bool weather_put(const char *path, const char *text);
/* Returns the number after @field in the file (NULL: the first number); -1 if there is none. */
long weather_number(const char *path, const char *field);

#endif
